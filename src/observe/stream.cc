// stream.cc: see weft/observe/stream.h.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <weft/observe/stream.h>

#include "events/event.h"
#include "observe/access.h"
#include "observe/own_thread.h"
#include "observe/recording_file.h"
#include "observe/session.h"
#include "observe/stack_texts.h"

namespace weft::observe {

namespace {

using namespace std::chrono_literals;
using weft::detail::event;
using weft::detail::event_kind;
using weft::detail::has_text;
using weft::detail::recorded_thread;

constexpr std::size_t events_at_once = 16'384;

// No thread records faster: an event takes it 15 ns or more, and what it records takes time, too.
constexpr uint64_t most_events_per_us = 50;

// In that time no ring is overwritten.
std::chrono::microseconds pause_for(uint64_t capacity) noexcept {
    return std::clamp<std::chrono::microseconds>(std::chrono::microseconds(capacity / most_events_per_us), 1ms, 100ms);
}

// Events at the end that belong together and are not all there yet: their writer is about to add
// the rest.
std::size_t unfinished(const std::vector<event>& all, std::size_t count) noexcept {
    std::size_t texts = 0;
    while (texts < count && all[count - 1 - texts].kind() == event_kind::text) ++texts;
    if (texts == count) return 0;  // of a string whose beginning is lost
    const event& before = all[count - 1 - texts];
    const bool is_text_whole = texts * weft::detail::event_text >= before.argument;
    const bool is_unfinished =
        has_text(before.kind()) ? !is_text_whole : before.kind() == event_kind::counter && texts == 0;
    return is_unfinished ? texts + 1 : 0;
}

}  // namespace

struct stream::state {
    state(std::shared_ptr<detail::session> of, const std::string& path, const stream_options& options)
        : from(std::move(of)), file(path), most_bytes(options.most_bytes), began(detail::now()) {
        for (const recorded_thread* t = first_ring(); t != nullptr; t = t->next) add_ring(*t).next = t->ring.head();
        detail::recorded names;
        add_process(names, began);
        file.add_program(names);
        add_gs(names, detail::live_gs(*from->source));
        add_names(names);
        for (const detail::known_g& g : names.gs) file.add_g(names, g);
        file.flush();
        written.store(file.size());
    }

    // What is known of a ring, whose thread has the number of its place in `rings`.
    struct ring_state {
        const recorded_thread* ring;
        uint64_t next = 0;  // the number of the first event that is not copied yet
        detail::recorded_ring known{};
        bool is_in_file = false;
        detail::recorded_ring in_file{};  // as the file has it
    };

    [[nodiscard]] const recorded_thread* first_ring() const noexcept {
        return from->source->rings.load(weft::detail::acquire);  // pairs with get_ring
    }

    ring_state& add_ring(const recorded_thread& t) {
        for (ring_state& r : rings) {
            if (r.ring == &t) return r;
        }
        return rings.emplace_back(ring_state{&t});
    }

    // The thread.
    void run() {
        const std::chrono::microseconds pause = pause_for(rings.empty() ? 0 : rings.front().ring->ring.capacity());
        std::unique_lock lock(changing);
        while (!ends) {
            wake.wait_for(lock, pause, [this] { return ends; });
            lock.unlock();
            try {
                copy();
            } catch (...) {
                error = std::current_exception();
                return;
            }
            if (file.size() >= most_bytes) return;
            lock.lock();
        }
    }

    // Copies what is new.
    void copy() {
        const detail::instant end = detail::now();
        const detail::clock_line clock(from->began, end);
        for (const recorded_thread* t = first_ring(); t != nullptr; t = t->next) {
            add_ring(*t).known.is_outside = t->is_outside.load(weft::detail::relaxed_count);
        }
        find_names_of_threads();
        for (std::size_t i = 0; i < rings.size(); ++i) copy_ring(static_cast<uint32_t>(i), clock);
        file.add_span(began.monotonic_ns, end.monotonic_ns);
        file.flush();
        written.store(file.size());
    }

    void find_names_of_threads() {
        const auto is_new = [](const ring_state& r) { return r.known.tid == 0 && !r.known.is_outside; };
        if (std::none_of(rings.begin(), rings.end(), is_new)) return;
        for (const detail::live_m& m : detail::live_ms(*from->source)) {
            for (ring_state& r : rings) {
                if (&r.ring->ring != m.ring) continue;
                r.known.m = m.index;
                r.known.tid = m.tid;
            }
        }
    }

    void copy_ring(uint32_t number, const detail::clock_line& clock) {
        ring_state& r = rings[number];
        // At most what is there now: its thread may add events as fast as they are copied.
        const uint64_t end = r.ring->ring.head();
        while (r.next < end && file.size() < most_bytes) {
            const uint64_t from_number = r.next;
            buffer.resize(events_at_once);
            std::size_t size = r.ring->ring.read(r.next, buffer.data(), buffer.size());
            const uint64_t gap = r.next - from_number - size;
            r.known.lost += gap;
            losses.fetch_add(gap);
            const std::size_t rest = unfinished(buffer, size);
            size -= rest;
            r.next -= rest;
            if (size == 0) break;
            buffer.resize(size);
            add_events(r, number, clock);
        }
    }

    void add_events(ring_state& r, uint32_t number, const detail::clock_line& clock) {
        detail::recorded names;
        detail::recorded_ring now = r.known;
        detail::decoder d(names, clock, 0);
        names.steps = d.steps_of(buffer, number, now);
        add_names(names);
        stacks.name(names);
        const detail::recorded_ring& in_file = r.in_file;
        const bool is_known = r.is_in_file && now.m == in_file.m && now.tid == in_file.tid &&
                              now.is_outside == in_file.is_outside && now.lost == in_file.lost;
        r.known = now;
        if (!is_known) add_thread(number);
        file.add_steps(names, number, names.steps.data(), names.steps.size());
    }

    // Threads are in the order of their numbers.
    void add_thread(uint32_t number) {
        for (uint32_t i = 0; i <= number; ++i) {
            ring_state& r = rings[i];
            if (r.is_in_file && i != number) continue;
            file.add_thread(i, r.known);
            r.is_in_file = true;
            r.in_file = r.known;
        }
    }

    const std::shared_ptr<detail::session> from;
    detail::file_writer file;
    const uint64_t most_bytes;
    const detail::instant began;
    std::vector<ring_state> rings;
    std::vector<event> buffer;
    detail::stack_texts stacks;
    std::exception_ptr error;
    std::atomic<uint64_t> written{0};
    std::atomic<uint64_t> losses{0};

    std::mutex changing;
    std::condition_variable wake;
    bool ends = false;
    bool is_closed = false;
    std::unique_ptr<detail::own_thread> thread;
};

stream::stream(const recorder& from, const std::string& path, const stream_options& options)
    : state_(std::make_unique<state>(detail::access::session_of(from), path, options)) {
    state_->thread = std::make_unique<detail::own_thread>("weft stream", false, [s = state_.get()] { s->run(); });
}

stream::~stream() {
    if (!state_->thread->exists_here()) {
        state_->thread->forget();
        state* const left = state_.release();  // a thread of the parent may have held its lock
        static_cast<void>(left);
        return;
    }
    try {
        close();
    } catch (...) {  // close() reports it
    }
}

void stream::close() {
    state& s = *state_;
    if (s.is_closed || !s.thread->exists_here()) return;  // the file belongs to the parent of this process
    s.is_closed = true;
    s.changing.lock();
    s.ends = true;
    s.changing.unlock();
    s.wake.notify_all();
    s.thread->join();
    if (s.error != nullptr) std::rethrow_exception(s.error);
    if (s.file.size() < s.most_bytes) s.copy();
    s.file.close();
}

uint64_t stream::bytes() const noexcept { return state_->written.load(); }

uint64_t stream::lost() const noexcept { return state_->losses.load(); }

}  // namespace weft::observe
