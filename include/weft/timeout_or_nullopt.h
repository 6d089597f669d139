// timeout_or_nullopt.h: deadlines whose expiry is a result, not an exception.
//
//     if (auto reply = weft::with_timeout_or_nullopt(1s, [&] { return ask(server); })) use(*reply);
//     if (!weft::with_timeout_or_nullopt(1s, [&] { flush(); })) log("flush took too long");
//
// As with_timeout() (cancel.h), which lets weft::timed_out leave the call. Here the result is empty
// if it was this deadline that ended f. If one around the call has passed by then, or ends f
// sooner, timed_out is thrown, because the code around has to end, too.
//
// Threads: any. See: docs/cancellation.md
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/cancel.h>
#include <weft/detail/require.h>

namespace weft {

namespace detail {

// Whether a weft::timed_out results from deadline_ns, and from none around the caller.
[[nodiscard]] inline bool is_own_deadline(int64_t deadline_ns) noexcept {
    const int64_t now = now_ns();
    if (deadline_ns > now) return false;  // f's own limit
    const enclosing around = enclosing_context();
    return around.context == nullptr || around.context->deadline_ns() > now;
}

template <typename F>
auto result_or_nullopt(int64_t deadline_ns, F&& f) {
    using result = std::invoke_result_t<F>;
    static_assert(!std::is_reference_v<result>, "weft::with_timeout_or_nullopt: f must not return a reference");
    using value = std::conditional_t<std::is_void_v<result>, bool, std::optional<result>>;
    try {
        cancel_context context(enclosing_context(), deadline_ns);
        const ambient_scope scope(&context);
        if constexpr (std::is_void_v<result>) {
            std::forward<F>(f)();
            return value(true);
        } else {
            return value(std::forward<F>(f)());
        }
    } catch (const timed_out&) {
        if (!is_own_deadline(deadline_ns)) throw;
    }
    return value();
}

}  // namespace detail

/// Calls f and returns its result as a std::optional, or true if f returns void. Returns nullopt,
/// or false, if weft::timed_out left f because deadline has passed. Throws what else f throws.
template <typename Clock, typename Duration, typename F>
[[nodiscard]] auto with_deadline_or_nullopt(std::chrono::time_point<Clock, Duration> deadline, F&& f) {
    return detail::result_or_nullopt(detail::deadline_at(deadline), std::forward<F>(f));
}

/// The same, from now.
template <typename Rep, typename Period, typename F>
[[nodiscard]] auto with_timeout_or_nullopt(std::chrono::duration<Rep, Period> timeout, F&& f) {
    return detail::result_or_nullopt(detail::deadline_after(timeout), std::forward<F>(f));
}

}  // namespace weft
