// time_point.h: converts std::chrono times to nanoseconds on the monotonic clock, saturating.
//
// Every wait with a deadline takes one int64_t: 0 means "do not wait", `never` means "no deadline".
// Durations beyond the type's range saturate to `never`, negative ones to "already passed".
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include <weft/detail/require.h>
#include <weft/detail/wait.h>

namespace weft::detail {

// Returns timeout in nanoseconds, rounded up and clamped to [0, never].
template <typename Rep, typename Period>
[[nodiscard]] constexpr int64_t saturated_ns(std::chrono::duration<Rep, Period> timeout) noexcept {
    using wide = std::chrono::duration<long double, std::nano>;
    const long double ns = std::chrono::duration_cast<wide>(timeout).count();
    if (!(ns > 0)) return 0;  // also NaN
    if (ns >= static_cast<long double>(never)) return never;
    const auto whole = static_cast<int64_t>(ns);
    return static_cast<long double>(whole) < ns ? whole + 1 : whole;
}

// Integer nanoseconds need no floating point.
[[nodiscard]] constexpr int64_t saturated_ns(std::chrono::nanoseconds timeout) noexcept {
    return timeout.count() > 0 ? timeout.count() : 0;
}

// Returns the deadline that is timeout from now.
template <typename Rep, typename Period>
[[nodiscard]] int64_t deadline_after(std::chrono::duration<Rep, Period> timeout) noexcept {
    const int64_t ns = saturated_ns(timeout);
    if (ns == 0) return long_ago;
    const int64_t now = now_ns();
    return ns >= never - now ? never : now + ns;
}

// Converts a time point of any clock to a deadline. For clocks other than steady_clock it uses the
// distance from now.
template <typename Clock, typename Duration>
[[nodiscard]] int64_t deadline_at(std::chrono::time_point<Clock, Duration> when) noexcept {
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
        const int64_t ns = saturated_ns(when.time_since_epoch());
        return ns == 0 ? long_ago : ns;
    } else {
        // In floating point, because the difference of distant time points does not fit their type.
        using wide = std::chrono::duration<long double, std::nano>;
        const wide left = wide(when.time_since_epoch()) - wide(Clock::now().time_since_epoch());
        return deadline_after(left);
    }
}

}  // namespace weft::detail
