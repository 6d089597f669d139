// sentinel_backoff.h: how long a sentinel sleeps until it looks again (idle.h), by what its looks have seen.
//
// The problem. A look is a wake-up, and costs as much as hundreds of green threads; work that is queued meanwhile waits. So the time to the next
// one begins short, and doubles, up to sentinel_far_ns, as long as the running Ps schedule by themselves. When they have scheduled nothing for
// sentinel_rounds looks in a row, they compute: then the sentinel goes far, and pushes do what it did.
//
// One that stays is there to spare the wake-ups of single requests: it goes on while there are at least as many of those as looks, each look
// without one counting against one look with two.
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
    int64_t period_ns = sentinel_near_ns;  // never: go far
    uint64_t ticks = 0;                    // schedules, of all Ps, at the last look
    int quiet_looks = 0;
    bool stays = false;

    void look_again(uint64_t ticks_now) noexcept {
        const auto seen = static_cast<int>(std::min(ticks_now - ticks, uint64_t{sentinel_rounds}));
        quiet_looks = stays ? std::max(quiet_looks + 1 - seen, 0) : seen == 0 ? quiet_looks + 1 : 0;
        ticks = ticks_now;
        if (quiet_looks >= sentinel_rounds) {
            period_ns = never;
            stays = false;
        } else {
            period_ns = period_ns == never ? sentinel_near_ns : std::min(2 * period_ns, sentinel_far_ns);
        }
    }
};

}  // namespace weft::detail
