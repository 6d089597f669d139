// timeline.cc: see timeline.h.
#include "observe/timeline.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace weft::observe::detail {

namespace {

using weft::detail::event_kind;

class player {
public:
    player(const recorded& r, teller& to) : r_(r), to_(to), threads_(r.threads.size()) {
        known_.reserve(r.gs.size());
        for (const known_g& g : r.gs) known_.emplace(g.id, &g);
        for (std::size_t i = 0; i < r.threads.size(); ++i) {
            if (!r.threads[i].is_outside) threads_of_ms_.emplace(r.threads[i].m, i);
        }
    }

    void play() {
        for (const step& s : r_.steps) take(s);
        for (const uint64_t id : order_) finish(*tracks_.at(id));
    }

private:
    void take(const step& s) {
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
                track_of(s.id, life::unknown).name = s.text;
                return;
            case event_kind::labels:
                return relabel(s);
            case event_kind::stack:
                return wait_in(s);
            case event_kind::cpu_delay:
                return delay(s);
            case event_kind::region:
                return begin_region(s);
            case event_kind::region_over:
                return end_region(s);
            case event_kind::counter:
                return begin_counter(s);
            case event_kind::log:
                return to_.log(s.ns, s.id == 0 ? nullptr : &track_of(s.id, life::running), s.thread, r_.texts[s.text]);
            case event_kind::value:
                return value(s);
            case event_kind::thread:
                return;
            case event_kind::p_taken:
                to_.thread_event(s);
                return move_to(s.ns, threads_[s.thread], static_cast<uint32_t>(s.argument));
            case event_kind::p_given:
                to_.thread_event(s);
                return give_p(s);
            default:
                return to_.thread_event(s);
        }
    }

    // before: its state until now, if nothing is known of it.
    track& track_of(uint64_t id, life before) {
        std::unique_ptr<track>& found = tracks_[id];
        if (found == nullptr) {
            found = std::make_unique<track>();
            found->id = id;
            if (const auto known = known_.find(id); known != known_.end()) {
                found->site = known->second->site;
                found->name = known->second->name;
                found->labels = known->second->labels;
            }
            order_.push_back(id);
            found->since_ns = r_.began_ns;
            found->now = before;
            found->is_assumed = true;
        }
        return *found;
    }

    void change_to(track& g, const change& c) {
        if (g.now == c.after) return;
        to_.changes(c);
        g.now = c.after;
        g.is_assumed = false;
        g.since_ns = c.ns;
        g.reason = c.reason;
        g.p = c.p;
        g.thread = c.thread;
        if (c.after == life::running) g.flow = 0;
        g.stack = 0;
    }

    void spawn(const step& s) {
        track& g = track_of(s.id, life::unknown);
        g.site = s.argument;
        wake(s, g, threads_[s.thread].running, 0);
        change_to(g, {.ns = s.ns, .before = g, .after = life::runnable});
    }

    void wake(const step& s, track& g, const track* waker, int plain_tid) {
        g.flow = ++flows_;
        to_.wakes({s.ns, waker, s.thread, plain_tid, g, g.flow});
    }

    void ready(const step& s) {
        track& g = track_of(s.id, life::waiting);
        const bool is_late = g.unwoken_ns != 0 && s.ns - g.unwoken_ns < skew_ns;
        if (g.now != life::waiting && !is_late) return;
        const bool by_plain_thread = s.detail == 1;
        const track* waker = nullptr;
        if (!by_plain_thread && s.argument != 0) waker = &track_of(s.argument, waker_was_);
        g.unwoken_ns = 0;
        wake(s, g, waker, by_plain_thread ? static_cast<int>(s.argument) : 0);
        if (is_late) g.flow = 0;  // it runs
        if (!is_late) change_to(g, {.ns = s.ns, .before = g, .after = life::runnable});
    }

    void run(const step& s) {
        track& g = track_of(s.id, life::runnable);
        g.unwoken_ns = g.now == life::waiting && !g.is_assumed ? s.ns : 0;
        thread_state& t = threads_[s.thread];
        t.p = static_cast<uint32_t>(s.argument);
        change_to(g, {.ns = s.ns, .before = g, .after = life::running, .p = t.p, .thread = s.thread});
        t.running = &g;
    }

    void leave(const step& s, life after) {
        track& g = track_of(s.id, life::running);
        const uint8_t reason = after == life::waiting ? s.detail : uint8_t{0};
        change_to(g, {.ns = s.ns, .before = g, .after = after, .reason = reason, .thread = s.thread});
        threads_[s.thread].running = nullptr;
    }

    // Begins or ends a blocking call.
    void enter(const step& s, life after) {
        const bool ends = after == life::running;
        track& g = track_of(s.id, ends ? life::in_call : life::running);
        thread_state& t = threads_[s.thread];
        const uint32_t p = ends ? t.p : no_p;
        change_to(g, {.ns = s.ns, .before = g, .after = after, .p = p, .thread = s.thread});
        t.running = ends ? &g : nullptr;
    }

    struct thread_state {
        track* running = nullptr;
        uint32_t p = no_p;
        const step* counter = nullptr;  // whose value comes next
    };

    void move_to(int64_t ns, thread_state& t, uint32_t p) {
        t.p = p;
        track* g = t.running;
        if (g == nullptr || g->now != life::running || g->p == p) return;
        to_.moves(ns, *g, g->p, p);
        g->p = p;
    }

    void give_p(const step& s) {
        if (s.detail != static_cast<uint8_t>(weft::detail::event_loss::retaken)) {
            return move_to(s.ns, threads_[s.thread], no_p);
        }
        // Seen by another thread. id: the index of the M.
        const auto [first, last] = threads_of_ms_.equal_range(s.id);
        for (auto at = first; at != last; ++at) move_to(s.ns, threads_[at->second], no_p);
    }

    void relabel(const step& s) {
        track& g = track_of(s.id, life::unknown);
        if (g.labels == s.text) return;
        to_.relabels(s.ns, g, s.text, s.thread);
        g.labels = s.text;
    }

    void wait_in(const step& s) {
        track& g = track_of(s.id, life::waiting);
        if (g.now == life::waiting) g.stack = s.text;
    }

    // The first one of a thread tells nothing.
    void delay(const step& s) {
        const auto [found, is_first] = delays_.try_emplace(s.id, s.argument);
        step since = s;
        since.argument = s.argument - std::min(found->second, s.argument);
        found->second = s.argument;
        if (!is_first && since.argument != 0) to_.thread_event(since);
    }

    void begin_region(const step& s) {
        track& g = track_of(s.id, life::running);
        ++g.regions;
        to_.begin_region(s.ns, g, literal(s.argument));
    }

    void end_region(const step& s) {
        track& g = track_of(s.id, life::running);
        if (g.regions == 0) return;  // it began before the recording
        --g.regions;
        to_.end_region(s.ns, g);
    }

    // The next step of the same thread is its value.
    void begin_counter(const step& s) { threads_[s.thread].counter = &s; }

    void value(const step& s) {
        const step* counter = std::exchange(threads_[s.thread].counter, nullptr);
        if (counter == nullptr) return;
        double value = 0;
        std::memcpy(&value, &s.argument, sizeof(value));
        to_.counter(counter->ns, s.thread, literal(counter->argument), value);
    }

    [[nodiscard]] const char* literal(uint64_t key) const {
        const auto found = r_.literals.find(key);
        return found == r_.literals.end() ? "?" : found->second.c_str();
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
    std::vector<thread_state> threads_;
    // A G whose first event is that it wakes another one ran before that, unless others were left
    // out.
    const life waker_was_ = r_.is_filtered ? life::unknown : life::running;
    std::unordered_multimap<uint64_t, std::size_t> threads_of_ms_;  // indices of threads_, by M
    std::unordered_map<uint64_t, uint64_t> delays_;                 // by M
    uint64_t flows_ = 0;
};

}  // namespace

void replay(const recorded& r, teller& to) { player(r, to).play(); }

std::string place_of(const recorded& r, uint64_t site) {
    const auto found = r.places.find(site);
    return found == r.places.end() ? std::string() : place_of(found->second);
}

std::string place_of(const place& where) {
    if (where.file.empty()) return {};
    return where.file.substr(where.file.rfind('/') + 1) + ":" + std::to_string(where.line);
}

std::string place_of(const weft::source_location& where) {
    return place_of(place{where.file_name(), {}, where.line()});
}

std::string stack_in_one_line(const recorded& r, uint32_t stack) {
    std::string text;
    for (const char c : r.texts[stack]) {
        if (c == '\n') {
            text += ", called by ";
        } else {
            text += c;
        }
    }
    return text;
}

std::string labels_text(const recorded& r, uint32_t labels) {
    std::string text;
    for_each_label(r.texts[labels], [&](std::string_view key, std::string_view value) {
        if (!text.empty()) text += ", ";
        text.append(key).append("=").append(value);
    });
    return text;
}

std::string title_of(const recorded& r, const track& g) {
    std::string title = "G " + std::to_string(g.id);
    if (g.name != 0) title += " " + r.texts[g.name];
    return title;
}

}  // namespace weft::observe::detail
