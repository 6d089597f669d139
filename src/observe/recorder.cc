// recorder.cc: see weft/observe/recorder.h.
#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <weft/observe/recorder.h>

#include "observe/access.h"
#include "observe/exporters.h"
#include "observe/filter.h"
#include "observe/recorded.h"
#include "observe/recording_file.h"
#include "observe/session.h"
#include "observe/stack_texts.h"
#include "observe/summary.h"
#include "sched/recording.h"
#include "sched/scheduler.h"

namespace weft::observe {

namespace {

using weft::detail::acquire;
using weft::detail::event;
using weft::detail::event_kind;
using weft::detail::recorded_thread;
using weft::detail::relaxed_count;

std::shared_ptr<weft::detail::recording> recording_of(const runtime& rt) {
    return detail::access::of(rt, "weft: a recorder was made for")->record;
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
    const std::vector<detail::live_m> ms = detail::live_ms(source);
    for (ring_copy& c : copies) {
        for (const detail::live_m& m : ms) {
            if (m.ring != c.ring) continue;
            c.thread.m = m.index;
            c.thread.tid = m.tid;
        }
    }
}

// Labels of a green thread that lives, and whose labels have changed, are those before the first
// change. r.gs has the living ones, then what is known from before.
void find_first_labels(detail::recorded& r, std::size_t living) {
    std::unordered_map<uint64_t, uint32_t> first;  // of those whose labels change
    for (const detail::step& s : r.steps) {
        if (s.kind == event_kind::labels) first.emplace(s.id, 0);
    }
    if (first.empty()) return;
    const auto find = [&](const detail::known_g& g, auto use) {
        if (const auto found = first.find(g.id); found != first.end()) use(found->second);
    };
    for (std::size_t i = living; i < r.gs.size(); ++i) {
        find(r.gs[i], [&](uint32_t& labels) {
            if (labels == 0) labels = r.gs[i].labels;
        });
    }
    for (std::size_t i = 0; i < living; ++i) {
        find(r.gs[i], [&](uint32_t labels) { r.gs[i].labels = labels; });
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

detail::session::session(std::shared_ptr<weft::detail::recording> of, const recorder_options& options)
    : source(std::move(of)), only(options.only), began(detail::now()) {
    if (const int error = weft::detail::begin_recording(*source, options.bytes_per_thread / sizeof(event))) {
        if (error == ENOMEM) throw std::bad_alloc();
        throw std::system_error(error, std::generic_category(), "weft: cannot record");
    }
    if (options.stack_every != 0) weft::detail::record_stacks(*source, options.stack_every);
    try {
        at_begin = detail::live_gs(*source);
        at_begin.shrink_to_fit();
    } catch (...) {
        weft::detail::end_recording(*source);
        throw;
    }
}

detail::session::~session() { weft::detail::end_recording(*source); }

std::shared_ptr<const detail::recorded> detail::session::snapshot(std::chrono::nanoseconds window) const {
    auto r = std::make_shared<detail::recorded>();
    const detail::instant end = detail::now();
    const detail::clock_line clock(began, end);
    uint64_t from_ticks = began.ticks;
    const int64_t spanned_ns = end.monotonic_ns - began.monotonic_ns;
    if (window.count() < spanned_ns && spanned_ns > 0) {
        const double part = static_cast<double>((std::max)(window, std::chrono::nanoseconds(0)).count()) /
                            static_cast<double>(spanned_ns);
        from_ticks = end.ticks - static_cast<uint64_t>(part * static_cast<double>(end.ticks - from_ticks));
    }
    std::vector<ring_copy> copies;
    for (recorded_thread* t = source->rings.load(acquire); t != nullptr; t = t->next) {  // pairs with get_ring
        copies.push_back(copy(*t));
    }
    name_threads(*source, copies);
    from_ticks = first_seen_by_all(copies, from_ticks);
    detail::decoder d(*r, clock, from_ticks);
    std::vector<std::vector<detail::step>> parts;
    parts.reserve(copies.size());
    for (ring_copy& c : copies) {
        parts.push_back(d.steps_of(c.events, static_cast<uint32_t>(parts.size()), c.thread));
        r->threads.push_back(c.thread);
    }
    r->steps = detail::merge(parts);
    // The first that is known of a G counts.
    add_gs(*r, detail::live_gs(*source));
    const std::size_t living = r->gs.size();
    d.add_remembered();
    add_gs(*r, at_begin);
    find_first_labels(*r, living);
    add_names(*r);
    detail::stack_texts().name(*r);
    r->began_ns = r->steps.empty() ? end.monotonic_ns : r->steps.front().ns;
    // Events go on while they are copied.
    r->ended_ns = r->steps.empty() ? end.monotonic_ns : (std::max)(end.monotonic_ns, r->steps.back().ns);
    add_process(*r, end);
    r->unrecorded = source->without_ring.load(relaxed_count);
    if (!matches_all(only)) *r = filtered(*r, only);
    return r;
}

recorder::recorder(const recorder_options& options)
    : session_(std::make_shared<detail::session>(weft::detail::recording_of_caller(), options)) {}

recorder::recorder(const runtime& of, const recorder_options& options)
    : session_(std::make_shared<detail::session>(recording_of(of), options)) {}

recorder::~recorder() = default;

recording recorder::snapshot(std::chrono::nanoseconds window) const { return recording(session_->snapshot(window)); }

std::size_t recording::events() const noexcept { return recorded_->steps.size(); }

uint64_t recording::lost() const noexcept {
    uint64_t sum = 0;
    for (const detail::recorded_ring& ring : recorded_->threads) sum += ring.lost;
    return sum;
}

std::chrono::nanoseconds recording::span() const noexcept {
    return std::chrono::nanoseconds(recorded_->ended_ns - recorded_->began_ns);
}

recording recording::only(const green_thread_filter& filter) const {
    return recording(std::make_shared<const detail::recorded>(detail::filtered(*recorded_, filter)));
}

std::string recording::summary() const { return detail::summary_of(*recorded_); }

std::string recording::critical_path(std::string_view region) const {
    return detail::critical_path_of(*recorded_, region);
}

void recording::write(const std::string& path) const { detail::write_file(*recorded_, path); }

recording recording::read(const std::string& path) {
    return recording(std::make_shared<const detail::recorded>(detail::read_file(path)));
}

void recording::write_perfetto(const std::string& path) const { detail::write_perfetto(*recorded_, path); }

void recording::write_chrome_json(const std::string& path) const { detail::write_chrome_json(*recorded_, path); }

void recording::write_text(const std::string& path, std::chrono::nanoseconds from, std::chrono::nanoseconds to) const {
    detail::write_text(*recorded_, path, from.count(), to.count());
}

}  // namespace weft::observe
