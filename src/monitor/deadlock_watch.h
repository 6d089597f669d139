// deadlock_watch.h: when the monitor searches for a deadlock (debug/deadlock.cc).
//
// The last M that goes idle while all Gs of weft::main wait without a timer asks the monitor to
// watch (park_m.cc). docs/sysmon.md says when it then checks, searches and stops. "others" means
// that something outside can wake a G: other threads, sockets, signals.
//
// Rejected: an alarm of each M that goes idle. A server would pay 1 us for each request.
//
// Invariants: I1. idle_state::monitor.watches_deadlock == watches(), except between a request and
//                 the monitor's next check. Both change under the idle lock, so that no request is
//                 lost.
// Threads:    the monitor's.
// See:        docs/sysmon.md#deadlock-watch, docs/deadlocks.md
#pragma once

#include <cstdint>

#include <weft/detail/wait.h>

namespace weft::detail {

class deadlock_watch {
public:
    static constexpr int64_t first_ns = 10'000'000;
    static constexpr int64_t moving_ns = 40'000'000;
    static constexpr int64_t others_ns = 1'500'000'000;
    static constexpr int64_t later_ns = 20'000'000'000;
    static constexpr int early_searches = 4;
    static constexpr int searches = 6;

    [[nodiscard]] bool watches() const noexcept { return next_ns_ != never; }

    // When to call check(); never if it does not watch.
    [[nodiscard]] int64_t next_ns() const noexcept { return next_ns_; }

    // An M asks for it. ticks: total_ticks(). If nothing was scheduled since the last search of
    // all, it stops at the next check.
    void begin(uint64_t ticks, int64_t now_ns) noexcept {
        if (ticks != ticks_) restart(ticks);
        next_ns_ = now_ns + (is_over() ? 0 : delay_ns());
    }

    // asleep: no P runs, no timer is set. True: search now.
    [[nodiscard]] bool check(uint64_t ticks, bool asleep, int64_t now_ns) noexcept {
        if (ticks != ticks_) {
            restart(ticks);
            next_ns_ = now_ns + (others_ ? others_ns : moving_ns);
            return false;
        }
        if (asleep && !is_over()) return true;
        next_ns_ = never;
        return false;
    }

    void searched(bool others, int64_t now_ns) noexcept {
        others_ = others;
        ++done_;
        next_ns_ = now_ns + (is_over() ? 0 : delay_ns());
    }

private:
    void restart(uint64_t ticks) noexcept {
        ticks_ = ticks;
        done_ = others_ ? 1 : 0;
    }

    [[nodiscard]] bool is_over() const noexcept { return done_ >= searches; }

    [[nodiscard]] int64_t delay_ns() const noexcept {
        if (done_ >= (others_ ? 2 : early_searches)) return later_ns;
        return others_ ? others_ns : first_ns << (2 * done_);
    }

    int64_t next_ns_ = never;
    uint64_t ticks_ = UINT64_MAX;  // at the last check
    int done_ = 0;                 // searches since something was scheduled
    bool others_ = false;
};

}  // namespace weft::detail
