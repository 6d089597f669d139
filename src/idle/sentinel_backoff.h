// sentinel_backoff.h: how long the near sentinel sleeps until its next scan (idle.h).
//
// A scan costs a wake-up, but queued work waits for it. So the period begins short and doubles. If
// sentinel_rounds scans in a row see no schedule, the running Ps compute. Then the M backs off: it
// sleeps until the next timer, and pushes wake an M.
//
// See: docs/idle.md
#pragma once

#include <algorithm>
#include <cstdint>

#include <weft/detail/wait.h>

namespace weft::detail {

inline constexpr int64_t sentinel_near_ns = 100'000;
inline constexpr int64_t sentinel_far_ns = 400'000;
inline constexpr int sentinel_rounds = 4;

struct sentinel_backoff {
    int64_t period_ns = sentinel_near_ns;  // never: it backs off
    uint64_t ticks = 0;                    // schedules of all Ps at the last scan
    int quiet_scans = 0;                   // in a row that saw no schedule

    [[nodiscard]] bool backs_off() const noexcept { return period_ns == never; }

    void scanned(uint64_t ticks_now) noexcept {
        quiet_scans = ticks_now == ticks ? quiet_scans + 1 : 0;
        ticks = ticks_now;
        if (quiet_scans >= sentinel_rounds) {
            period_ns = never;
        } else {
            period_ns = backs_off() ? sentinel_near_ns : std::min(2 * period_ns, sentinel_far_ns);
        }
    }
};

}  // namespace weft::detail
