// backoff.h: pauses between attempts, which grow with each failure and differ at random.
//
//     weft::backoff pauses({.first = 50ms, .longest = 5s});
//     for (;;) {
//         try {
//             return connect(server);
//         } catch (const std::system_error&) {
//             if (pauses.count() == 4) throw;
//         }
//         pauses.wait();      // 25 to 50 ms, 50 to 100 ms, …
//     }
//
// A part of each pause is random, so that clients that have failed together do not return together.
// In a simulation it depends on the virtual time and on a choice of the schedule.
//
// Threads: one at a time for each object. See: docs/patterns.md
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <weft/detail/require.h>

namespace weft {

struct backoff_options {
    std::chrono::nanoseconds first = std::chrono::milliseconds(50);  ///< the longest first pause
    std::chrono::nanoseconds longest = std::chrono::seconds(2);      ///< of any pause
    uint32_t factor = 2;                                             ///< by which the next pause is longer
    /// The random part of a pause: 0: none; 50: from a half to all of it; 100: from nothing to all.
    uint32_t jitter_percent = 50;
};

namespace detail {

// The pause after so many earlier ones. random: any number.
[[nodiscard]] constexpr std::chrono::nanoseconds backoff_pause(const backoff_options& how,
                                                               uint64_t earlier,
                                                               uint64_t random) noexcept {
    int64_t pause = (std::min)(how.first, how.longest).count();
    for (uint64_t i = 0; i < earlier && how.factor > 1 && pause != 0 && pause < how.longest.count(); ++i)
        pause = pause > how.longest.count() / how.factor ? how.longest.count() : pause * how.factor;
    // In this order, because a pause of years times 100 would overflow.
    const int64_t part = pause / 100 * how.jitter_percent + pause % 100 * how.jitter_percent / 100;
    return std::chrono::nanoseconds(pause - part + static_cast<int64_t>(random % (static_cast<uint64_t>(part) + 1)));
}

// A random number, not for secrets. Repeated with a simulation's schedule. Any thread.
[[nodiscard]] uint64_t backoff_random() noexcept;

}  // namespace detail

class backoff {
public:
    backoff() = default;

    /// Throws std::invalid_argument if a duration is negative, factor is 0, or jitter_percent is
    /// above 100.
    explicit backoff(const backoff_options& how);

    /// Returns the next pause. For callers that wait by themselves, for example in a select.
    [[nodiscard]] std::chrono::nanoseconds next() noexcept {
        return detail::backoff_pause(how_, count_++, detail::backoff_random());
    }

    /// Waits for the next pause. A cancellation point: throws weft::cancelled or weft::timed_out.
    void wait();

    /// How many pauses there were since the beginning or the last reset().
    [[nodiscard]] uint64_t count() const noexcept { return count_; }

    /// Begins again with the first pause. Call it after a success.
    void reset() noexcept { count_ = 0; }

private:
    backoff_options how_;
    uint64_t count_ = 0;
};

}  // namespace weft
