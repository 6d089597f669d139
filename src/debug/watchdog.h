// watchdog.h: says which green threads hold others up, or are held up: once each, and not too often.
//
// The problem. A G that computes for a second has its P taken away, and nothing breaks; but somebody would like to know. A G that is
// runnable and does not run for as long hints at too few Ps, at a mistake in priorities, or at one of weft's.
//
// So the monitor looks four times in the time that is allowed. What an M runs is the same as before if the G is, and its P's count of
// schedules: then it has not scheduled since. A runnable G is the same as before if it is runnable since the same time; that is
// a time of its P's clock, so Ps that have work are made to pass through g0 after each look, where they read the clock.
//
// A look that comes late_ns late says nothing about Gs: the process was stopped, or had no CPU. So it says that, and begins anew.
//
// Rejected. A timer signal for each thread (EINTR in user code). Being always on: an idle process would wake up, a busy one be
// interrupted to be asked for its frames.
//
// Who: the monitor's thread.
// See: docs/debugging.md
#pragma once

#include <cstdint>

#include <weft/detail/wait.h>

namespace weft::detail {

struct G;
struct P;
struct M;
struct scheduler;

struct watched {
    static constexpr int64_t late_ns = 500'000'000;
    static constexpr int looks = 4;  // in the time that is allowed
    static constexpr int64_t shortest_period_ns = 1'000'000;
    static constexpr uint32_t reports_max = 5;  // in a minute
    static constexpr int64_t minute_ns = 60'000'000'000;

    watched(const scheduler& s, int64_t allowed_ns) noexcept;

    [[nodiscard]] int64_t period_ns() const noexcept { return period_ns_; }

    // One look, which comes so late.
    void look(scheduler& s, int64_t now_ns, int64_t late_by_ns) noexcept;

    // What was seen is not to be counted as time that Gs have taken.
    void forget() noexcept { forgets_ = true; }

private:
    static constexpr uint32_t found_max = 8;
    static constexpr uint32_t queued_max = 64;  // runnable Gs that are looked at

    // A G that has run for too long.
    struct finding {
        const G* g;
        uint64_t id;
        int64_t ns;
    };

    // A G that was runnable when last seen.
    struct queued {
        const G* g = nullptr;
        uint64_t id = 0;
        int64_t since_ns = 0;  // as it says
        int64_t seen_ns = 0;   // at the first look that saw it so
        bool reported = false;
        bool still = false;
    };

    void look_at_running(scheduler& s, int64_t now_ns) noexcept;
    bool is_overdue(M& m, int64_t now_ns, finding& f) const noexcept;
    void look_at_queued(scheduler& s, int64_t now_ns) noexcept;
    void see_queued(const G& g, uint64_t id, int64_t since_ns, int64_t now_ns) noexcept;
    [[nodiscard]] bool may_report(int64_t now_ns) noexcept;

    const int64_t allowed_ns_;
    const int64_t period_ns_;
    bool forgets_ = true;
    int64_t minute_began_ns_ = 0;
    uint32_t reports_ = 0;  // in this minute
    uint64_t left_out_ = 0;
    queued queued_[queued_max];
};

// One line on s as it is, in the form of Go's schedtrace; and, with detail, one on each P, M and G. ms: since it began.
void print_trace(scheduler& s, int64_t ms, bool detail) noexcept;

}  // namespace weft::detail
