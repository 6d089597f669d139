// time.h: sleeping.
//
// A sleeping green thread occupies no P. A plain thread sleeps in the operating system.
//
// See: docs/timers.md
#pragma once

#include <chrono>

#include <weft/detail/require.h>
#include <weft/detail/time_point.h>

namespace weft {

namespace detail {

// Blocks the caller until the monotonic clock reaches deadline_ns. Any thread. A cancellation
// point: throws cancelled or timed_out.
void sleep_until_ns(int64_t deadline_ns);

}  // namespace detail

/// Blocks the caller for at least duration; zero or less: not at all; beyond the clock's range: for
/// ever. Any thread. A cancellation point (cancel.h).
template <typename Rep, typename Period>
void sleep_for(std::chrono::duration<Rep, Period> duration) {
    detail::sleep_until_ns(detail::deadline_after(duration));
}

/// Blocks the caller at least until when. Any thread. A cancellation point.
template <typename Clock, typename Duration>
void sleep_until(std::chrono::time_point<Clock, Duration> when) {
    detail::sleep_until_ns(detail::deadline_at(when));
}

}  // namespace weft
