// recorder.cc: see weft/observe/recorder.h.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <weft/observe/recorder.h>

#include "debug/g_snapshot.h"
#include "observe/access.h"
#include "observe/exporters.h"
#include "observe/recorded.h"
#include "os/cpu_ticks.h"
#include "os/os.h"
#include "sched/recording.h"
#include "sched/scheduler.h"

namespace weft::observe {

namespace {

using weft::detail::acquire;
using weft::detail::event;
using weft::detail::event_kind;
using weft::detail::recorded_thread;
using weft::detail::relaxed_count;

// One instant on all clocks.
struct instant {
    uint64_t ticks;
    int64_t monotonic_ns;
    int64_t realtime_ns;
};

instant now() noexcept {
    // Of several readings, the one with the least time between its two halves.
    instant best{};
    uint64_t least = (std::numeric_limits<uint64_t>::max)();
    for (int i = 0; i < 5; ++i) {
        const uint64_t before = weft::detail::os::cpu_ticks();
        const int64_t ns = weft::detail::os::monotonic_ns();
        const uint64_t after = weft::detail::os::cpu_ticks();
        if (after - before >= least) continue;
        least = after - before;
        best = {before + (after - before) / 2, ns, 0};
    }
    std::timespec real{};
    static_cast<void>(std::timespec_get(&real, TIME_UTC));
    best.realtime_ns = int64_t{real.tv_sec} * 1'000'000'000 + real.tv_nsec;
    return best;
}

// Turns ticks into nanoseconds, from two instants at least some time apart.
class clock_line {
public:
    clock_line(const instant& a, const instant& b) noexcept : from_(a) {
        const auto ticks = static_cast<double>(b.ticks - a.ticks);
        ns_per_tick_ = ticks > 0 ? static_cast<double>(b.monotonic_ns - a.monotonic_ns) / ticks : 1;
    }

    [[nodiscard]] int64_t ns_of(uint64_t ticks) const noexcept {
        const auto since = static_cast<int64_t>(ticks - from_.ticks);
        return from_.monotonic_ns + static_cast<int64_t>(static_cast<double>(since) * ns_per_tick_);
    }

private:
    instant from_;
    double ns_per_tick_;
};

bool is_followed_by_text(event_kind kind) noexcept { return kind == event_kind::name || kind == event_kind::log; }

// Takes the string after the event at all[at] off, if it is whole.
std::string text_after(const std::vector<event>& all, std::size_t& at) {
    const auto size = static_cast<std::size_t>((std::min)(all[at].argument, uint64_t{1 << 16}));
    std::string text;
    while (text.size() < size && at + 1 < all.size() && all[at + 1].kind() == event_kind::text) {
        char bytes[weft::detail::event_text];
        std::memcpy(bytes, &all[at + 1].ticks, 8);
        std::memcpy(bytes + 8, &all[at + 1].argument, 8);
        text.append(bytes, (std::min)(sizeof(bytes), size - text.size()));
        ++at;
    }
    return text;
}

class decoder {
public:
    decoder(detail::recorded& into, const clock_line& clock, uint64_t from_ticks) noexcept
        : into_(into), clock_(clock), from_ticks_(from_ticks) {}

    // The events of a ring that are not older than from_ticks. The ring becomes a thread.
    std::vector<detail::step> steps_of(const std::vector<event>& all, detail::recorded_ring ring) {
        std::vector<detail::step> steps;
        steps.reserve(all.size());
        const auto thread = static_cast<uint32_t>(into_.threads.size());
        for (std::size_t at = 0; at < all.size(); ++at) {
            const event& e = all[at];
            if (e.kind() == event_kind::text || e.kind() == event_kind::none || e.kind() >= event_kind::count) continue;
            uint32_t text = 0;
            if (is_followed_by_text(e.kind())) text = add_text(text_after(all, at));
            if (e.kind() == event_kind::thread) {
                ring.m = static_cast<uint32_t>(e.id());
                ring.tid = static_cast<int>(e.argument);
            }
            if (e.ticks < from_ticks_) {
                remember(e, text);
                continue;
            }
            steps.push_back({clock_.ns_of(e.ticks), e.id(), e.argument, thread, text, e.kind(), e.detail()});
        }
        into_.threads.push_back(ring);
        return steps;
    }

    // What events before from_ticks say of green threads.
    void add_remembered() {
        for (const auto& [id, g] : remembered_) into_.gs.push_back(g);
    }

    uint32_t add_text(std::string text) {
        if (text.empty()) return 0;
        into_.texts.push_back(std::move(text));
        return static_cast<uint32_t>(into_.texts.size() - 1);
    }

private:
    void remember(const event& e, uint32_t text) {
        if (e.kind() != event_kind::name && e.kind() != event_kind::spawn) return;
        detail::known_g& g = remembered_.try_emplace(e.id(), detail::known_g{e.id(), 0, 0}).first->second;
        if (e.kind() == event_kind::name) g.name = text;
        if (e.kind() == event_kind::spawn) g.site = e.argument;
    }

    detail::recorded& into_;
    const clock_line& clock_;
    uint64_t from_ticks_;
    std::unordered_map<uint64_t, detail::known_g> remembered_;
};

std::string name_of_program() {
    char path[4096];
    const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
    if (size <= 0) return "program";
    const std::string_view whole(path, static_cast<std::size_t>(size));
    return std::string(whole.substr(whole.rfind('/') + 1));
}

uint64_t site_of(const weft::source_location& where) noexcept {
    uint64_t word = 0;
    std::memcpy(&word, &where, sizeof(word));
    return word;
}

// A green thread that lives, and may have had its start before the recording.
struct live_g {
    uint64_t id;
    uint64_t site;
    char name[weft::detail::G::name_size];
};

constexpr std::size_t live_most = 100'000;

// False: it has ended. It may also end, and start as another, right after that: then its events say
// so.
bool read_live(const weft::detail::G& g, live_g& into) noexcept {
    weft::detail::identity who;
    if (g.state.load(acquire) == weft::detail::g_state::dead || !who.read(g)) return false;  // pairs with set_state
    into = {who.id, site_of(who.where), {}};
    std::memcpy(into.name, who.name, sizeof(into.name));
    return true;
}

// The child of a fork has no threads of its parent's runtimes.
bool is_alive(const weft::detail::recording& source) noexcept WEFT_REQUIRES(source.changing) {
    return source.of != nullptr && !weft::detail::is_from_before_fork(*source.of);
}

void add_live_gs(weft::detail::recording& source, std::vector<live_g>& all) {
    all.reserve(live_most);  // nothing throws while the lock is held
    source.changing.lock();
    if (is_alive(source)) {
        source.of->gs.for_each([&](const weft::detail::G& g) {
            live_g found{};
            if (all.size() < live_most && read_live(g, found)) all.push_back(found);
        });
    }
    source.changing.unlock();
}

// An M, and the ring that it writes to.
struct live_m {
    const weft::detail::event_ring* ring;
    uint32_t index;
    int tid;
};

void add_live_ms(weft::detail::recording& source, std::vector<live_m>& all) {
    constexpr std::size_t most = 20'000;  // more than RUN_MAX_THREADS allows
    all.reserve(most);
    source.changing.lock();
    if (is_alive(source)) {
        source.of->threads_lock.lock();
        for (const weft::detail::M* m = source.of->all_ms; m != nullptr && all.size() < most; m = m->all_next) {
            if (const auto* ring = m->events.load(acquire)) all.push_back({ring, m->index, m->tid()});  // from attach
        }
        source.of->threads_lock.unlock();
    }
    source.changing.unlock();
}

}  // namespace

struct recorder::state {
    std::shared_ptr<weft::detail::recording> source;
    instant began{};
    std::vector<live_g> at_begin;

    void begin(const recorder_options& options) {
        began = now();
        if (const int error = weft::detail::begin_recording(*source, options.bytes_per_thread / sizeof(event))) {
            if (error == ENOMEM) throw std::bad_alloc();
            throw std::system_error(error, std::generic_category(), "weft: cannot record");
        }
        try {
            add_live_gs(*source, at_begin);
            at_begin.shrink_to_fit();
        } catch (...) {
            weft::detail::end_recording(*source);
            throw;
        }
    }
};

recorder::recorder(const recorder_options& options) : state_(std::make_unique<state>()) {
    state_->source = weft::detail::recording_of_caller();
    state_->begin(options);
}

recorder::recorder(const runtime& of, const recorder_options& options) : state_(std::make_unique<state>()) {
    const weft::detail::runtime_use s = detail::access::of(of, "weft: a recorder was made for");
    state_->source = s->record;
    state_->begin(options);
}

recorder::~recorder() { weft::detail::end_recording(*state_->source); }

namespace {

// All steps, in the order of their times. Those of one thread stay in their order.
std::vector<detail::step> merge(const std::vector<std::vector<detail::step>>& parts) {
    struct cursor {
        const detail::step* at;
        const detail::step* end;
    };

    const auto is_later = [](const cursor& a, const cursor& b) { return a.at->ns > b.at->ns; };
    std::vector<cursor> heap;
    std::size_t count = 0;
    for (const std::vector<detail::step>& part : parts) {
        if (!part.empty()) heap.push_back({part.data(), part.data() + part.size()});
        count += part.size();
    }
    std::make_heap(heap.begin(), heap.end(), is_later);
    std::vector<detail::step> all;
    all.reserve(count);
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), is_later);
        cursor& first = heap.back();
        // Up to the first step of the next thread.
        do {
            all.push_back(*first.at++);
        } while (first.at != first.end && (heap.size() == 1 || first.at->ns <= heap.front().at->ns));
        if (first.at == first.end) {
            heap.pop_back();
        } else {
            std::push_heap(heap.begin(), heap.end(), is_later);
        }
    }
    return all;
}

detail::place place_at(uint64_t site) {
    weft::source_location where;
    std::memcpy(static_cast<void*>(&where), &site, sizeof(where));
    return {where.file_name(), where.function_name(), where.line()};
}

// Copies the texts that events have the addresses of.
void add_texts(detail::recorded& r) {
    const auto add_place = [&](uint64_t site) {
        if (const auto [found, is_new] = r.places.try_emplace(site); is_new) found->second = place_at(site);
    };
    for (const detail::step& s : r.steps) {
        if (s.kind == event_kind::spawn) add_place(s.argument);
        if (s.kind == event_kind::region || s.kind == event_kind::counter) {
            r.literals.try_emplace(s.argument, reinterpret_cast<const char*>(s.argument));
        }
    }
    for (const detail::known_g& g : r.gs) add_place(g.site);
}

struct ring_copy {
    const weft::detail::event_ring* ring;
    std::vector<event> events;
    detail::recorded_ring thread;
};

// All whole events of a ring.
ring_copy copy(const recorded_thread& t) {
    ring_copy c{&t.ring, {}, {}};
    c.events.resize(static_cast<std::size_t>((std::min)(t.ring.head(), t.ring.capacity())) + 64);
    uint64_t from = 0;
    c.events.resize(t.ring.read(from, c.events.data(), c.events.size()));
    c.thread.is_outside = t.is_outside.load(relaxed_count);
    c.thread.lost = from - c.events.size();
    return c;
}

// An M that has ended is known by the event at its start, if the ring still has it.
void name_threads(weft::detail::recording& source, std::vector<ring_copy>& copies) {
    std::vector<live_m> ms;
    add_live_ms(source, ms);
    for (ring_copy& c : copies) {
        for (const live_m& m : ms) {
            if (m.ring != c.ring) continue;
            c.thread.m = m.index;
            c.thread.tid = m.tid;
        }
    }
}

// Rings reach back differently. The time from which on all of them are whole, and not before
// from_ticks: what one thread has done cannot be told without what the others did.
uint64_t first_seen_by_all(std::vector<ring_copy>& copies, uint64_t from_ticks) {
    const auto is_text = [](const event& e) { return e.kind() == event_kind::text; };
    uint64_t first = from_ticks;
    for (ring_copy& c : copies) {
        if (c.thread.lost == 0) continue;
        const auto oldest = std::find_if_not(c.events.begin(), c.events.end(), is_text);
        if (oldest != c.events.end() && oldest->ticks <= from_ticks) {
            c.thread.lost = 0;  // what it has lost is older than what is wanted
        } else if (oldest != c.events.end()) {
            first = (std::max)(first, oldest->ticks);
        }
    }
    return first;
}

}  // namespace

recording recorder::snapshot(std::chrono::nanoseconds window) const {
    auto r = std::make_shared<detail::recorded>();
    weft::detail::recording& source = *state_->source;
    const instant end = now();
    const clock_line clock(state_->began, end);
    uint64_t from_ticks = state_->began.ticks;
    const int64_t spanned_ns = end.monotonic_ns - state_->began.monotonic_ns;
    if (window.count() < spanned_ns && spanned_ns > 0) {
        const double part =
            static_cast<double>((std::max)(window.count(), std::int64_t{0})) / static_cast<double>(spanned_ns);
        from_ticks = end.ticks - static_cast<uint64_t>(part * static_cast<double>(end.ticks - from_ticks));
    }
    std::vector<ring_copy> copies;
    for (recorded_thread* t = source.rings.load(acquire); t != nullptr; t = t->next) {  // pairs with get_ring
        copies.push_back(copy(*t));
    }
    name_threads(source, copies);
    from_ticks = first_seen_by_all(copies, from_ticks);
    decoder d(*r, clock, from_ticks);
    std::vector<std::vector<detail::step>> parts;
    parts.reserve(copies.size());
    for (const ring_copy& c : copies) parts.push_back(d.steps_of(c.events, c.thread));
    r->steps = merge(parts);
    std::vector<live_g> live;
    add_live_gs(source, live);
    // The first that is known of a G counts.
    const auto add = [&](const std::vector<live_g>& some) {
        for (const live_g& g : some) r->gs.push_back({g.id, g.site, d.add_text(g.name)});
    };
    add(live);
    d.add_remembered();
    add(state_->at_begin);
    add_texts(*r);
    r->began_ns = r->steps.empty() ? end.monotonic_ns : r->steps.front().ns;
    // Events go on while they are copied.
    r->ended_ns = r->steps.empty() ? end.monotonic_ns : (std::max)(end.monotonic_ns, r->steps.back().ns);
    r->realtime_minus_monotonic_ns = end.realtime_ns - end.monotonic_ns;
    r->pid = static_cast<int>(::getpid());
    r->program = name_of_program();
    return recording(std::move(r));
}

std::size_t recording::events() const noexcept { return recorded_->steps.size(); }

uint64_t recording::lost() const noexcept {
    uint64_t sum = 0;
    for (const detail::recorded_ring& ring : recorded_->threads) sum += ring.lost;
    return sum;
}

std::chrono::nanoseconds recording::span() const noexcept {
    return std::chrono::nanoseconds(recorded_->ended_ns - recorded_->began_ns);
}

void recording::write_perfetto(const std::string& path) const { detail::write_perfetto(*recorded_, path); }

void recording::write_chrome_json(const std::string& path) const { detail::write_chrome_json(*recorded_, path); }

void recording::write_text(const std::string& path) const { detail::write_text(*recorded_, path); }

}  // namespace weft::observe
