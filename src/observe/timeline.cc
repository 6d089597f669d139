// timeline.cc: see timeline.h.
#include "observe/timeline.h"

#include <cstring>
#include <memory>
#include <string_view>

#include <weft/detail/source_location.h>

namespace weft::observe::detail {

namespace {

using weft::detail::event_kind;

weft::source_location location_of(uint64_t site) noexcept {
    weft::source_location where;
    std::memcpy(static_cast<void*>(&where), &site, sizeof(where));
    return where;
}

class player {
public:
    player(const recorded& r, teller& to) : r_(r), to_(to), running_(r.threads.size()) {
        known_.reserve(r.gs.size());
        for (const known_g& g : r.gs) known_.emplace(g.id, &g);
    }

    void play() {
        for (std::size_t at = 0; at < r_.steps.size(); ++at) take(r_.steps[at], at);
        for (const uint64_t id : order_) finish(*tracks_.at(id));
    }

private:
    void take(const step& s, std::size_t at) {
        switch (s.kind) {
            case event_kind::spawn:
                return spawn(s);
            case event_kind::ready:
                return ready(s);
            case event_kind::run:
                return run(s);
            case event_kind::wait:
                return leave(s, life::waiting);
            case event_kind::yield:
                return leave(s, life::runnable);
            case event_kind::end:
                return leave(s, life::ended);
            case event_kind::call:
                return enter(s, life::in_call);
            case event_kind::call_over:
                return enter(s, life::running);
            case event_kind::name:
                track_of(s.id, s.ns, life::unknown).name = s.text;
                return;
            case event_kind::region:
                return begin_region(s);
            case event_kind::region_over:
                return end_region(s);
            case event_kind::counter:
                return counter(s, at);
            case event_kind::log:
                return to_.log(s.ns, s.id == 0 ? nullptr : &track_of(s.id, s.ns, life::running), s.thread,
                               r_.texts[s.text]);
            case event_kind::value:
            case event_kind::thread:
                return;
            default:
                return to_.thread_event(s);
        }
    }

    // before: its state until now, if nothing is known of it.
    track& track_of(uint64_t id, int64_t ns, life before) {
        std::unique_ptr<track>& found = tracks_[id];
        if (found == nullptr) {
            found = std::make_unique<track>();
            found->id = id;
            if (const auto known = known_.find(id); known != known_.end()) {
                found->parent = known->second->parent;
                found->site = known->second->site;
                found->name = known->second->name;
            }
            order_.push_back(id);
            found->since_ns = r_.began_ns;
            found->now = before;
            static_cast<void>(ns);
            to_.meet(*found);
        }
        return *found;
    }

    void change_to(track& g, const change& c) {
        if (g.now == c.after) return;
        to_.changes(c);
        g.now = c.after;
        g.since_ns = c.ns;
        g.reason = c.reason;
        g.object = c.object;
        g.p = c.p;
        g.thread = c.thread;
        if (c.after == life::running) g.flow = 0;
    }

    void spawn(const step& s) {
        const track* parent = running_[s.thread];
        track& g = track_of(s.id, s.ns, life::unknown);
        g.site = s.argument;
        g.parent = parent == nullptr ? g.parent : parent->id;
        to_.meet(g);
        wake(s, g, parent, 0);
        change_to(g, {.ns = s.ns, .before = g, .after = life::runnable});
    }

    void wake(const step& s, track& g, const track* waker, int plain_tid) {
        g.flow = ++flows_;
        to_.wakes({s.ns, waker, s.thread, plain_tid, g, g.flow});
    }

    void ready(const step& s) {
        track& g = track_of(s.id, s.ns, life::waiting);
        const bool is_late = g.unwoken_ns != 0 && s.ns - g.unwoken_ns < skew_ns;
        if (g.now != life::waiting && !is_late) return;
        const bool by_plain_thread = s.detail == 1;
        const track* waker = nullptr;
        if (!by_plain_thread && s.argument != 0) waker = &track_of(s.argument, s.ns, life::running);
        g.unwoken_ns = 0;
        wake(s, g, waker, by_plain_thread ? static_cast<int>(s.argument) : 0);
        if (!is_late) change_to(g, {.ns = s.ns, .before = g, .after = life::runnable});
    }

    void run(const step& s) {
        track& g = track_of(s.id, s.ns, life::runnable);
        g.unwoken_ns = g.now == life::waiting ? s.ns : 0;
        change_to(g, {.ns = s.ns,
                      .before = g,
                      .after = life::running,
                      .p = static_cast<uint32_t>(s.argument),
                      .thread = s.thread});
        running_[s.thread] = &g;
    }

    void leave(const step& s, life after) {
        track& g = track_of(s.id, s.ns, life::running);
        change_to(
            g, {.ns = s.ns, .before = g, .after = after, .reason = s.detail, .object = s.argument, .thread = s.thread});
        running_[s.thread] = nullptr;
    }

    void enter(const step& s, life after) {
        track& g = track_of(s.id, s.ns, after == life::running ? life::in_call : life::running);
        change_to(g, {.ns = s.ns, .before = g, .after = after, .p = g.p, .thread = s.thread});
        running_[s.thread] = &g;
    }

    void begin_region(const step& s) {
        track& g = track_of(s.id, s.ns, life::running);
        ++g.regions;
        to_.begin_region(s.ns, g, reinterpret_cast<const char*>(s.argument));
    }

    void end_region(const step& s) {
        track& g = track_of(s.id, s.ns, life::running);
        if (g.regions == 0) return;  // it began before the recording
        --g.regions;
        to_.end_region(s.ns, g);
    }

    // The value is the next step of the same thread.
    void counter(const step& s, std::size_t at) {
        for (++at; at < r_.steps.size() && r_.steps[at].ns <= s.ns + skew_ns; ++at) {
            const step& next = r_.steps[at];
            if (next.thread != s.thread) continue;
            double value = 0;
            std::memcpy(&value, &next.argument, sizeof(value));
            if (next.kind == event_kind::value) to_.counter(s.ns, reinterpret_cast<const char*>(s.argument), value);
            return;
        }
    }

    void finish(track& g) {
        for (; g.regions != 0; --g.regions) to_.end_region(r_.ended_ns, g);
        change_to(g, {.ns = r_.ended_ns, .before = g, .after = life::ended});
    }

    const recorded& r_;
    teller& to_;
    std::unordered_map<uint64_t, const known_g*> known_;
    std::unordered_map<uint64_t, std::unique_ptr<track>> tracks_;
    std::vector<uint64_t> order_;
    std::vector<const track*> running_;  // on each thread
    uint64_t flows_ = 0;
};

}  // namespace

void replay(const recorded& r, teller& to) { player(r, to).play(); }

std::string place_of(uint64_t site) {
    const weft::source_location where = location_of(site);
    const std::string_view file = where.file_name();
    if (file.empty()) return {};
    return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(where.line());
}

std::string function_of(uint64_t site) { return location_of(site).function_name(); }

std::string title_of(const recorded& r, const track& g) {
    std::string title = "G " + std::to_string(g.id);
    if (g.name != 0) title += " " + r.texts[g.name];
    return title;
}

}  // namespace weft::observe::detail
