// time.h: sleeping.
//
// A sleeping green thread costs its P nothing; a plain thread sleeps in the operating system.
//
// See: docs/timers.md
#pragma once

#include <chrono>

#include <weft/detail/require.h>
#include <weft/detail/time_point.h>

namespace weft {

namespace detail {

// Blocks the caller until the monotonic clock shows deadline_ns. Any thread. A cancellation point: throws cancelled or timed_out.
void sleep_until_ns(int64_t deadline_ns);

}  // namespace detail

// Blocks the caller for at least duration. Zero or negative: returns at once. Any thread. Durations beyond the clock's range sleep
// for ever. A cancellation point (cancel.h).
template <typename Rep, typename Period>
void sleep_for(std::chrono::duration<Rep, Period> duration) {
    detail::sleep_until_ns(detail::deadline_after(duration));
}

// Blocks the caller until when at the earliest. Any thread. A cancellation point.
template <typename Clock, typename Duration>
void sleep_until(std::chrono::time_point<Clock, Duration> when) {
    detail::sleep_until_ns(detail::deadline_at(when));
}

}  // namespace weft
