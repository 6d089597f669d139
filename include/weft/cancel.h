// cancel.h: deadlines and cancellation for a block of code, without a context parameter.
//
//     weft::with_timeout(1s, [&] {
//         auto reply = ask(server);      // every wait in here ends after at most a second: it throws weft::timed_out
//         store(reply);
//     });
//
// Cancellation points: channel send and receive, select, sleeping, future.get() and wait(), waits
// for a condition variable, a semaphore or an event, and every form with _for or _until. They are
// interrupted only where they wait: an operation possible at once is performed, and a completed one
// is never undone.
//
// Never interrupted: lock(), call_once and joins (wait_group::wait, latch::wait, barriers, the end
// of a scope). Their forms with a deadline are.
//
// An interrupted operation throws weft::cancelled or weft::timed_out (error.h), which are not
// std::exceptions. The next wait throws again. While an exception unwinds the stack, contexts
// around the throw interrupt nothing, so destructors can wait; a deadline or scope that a
// destructor opens does.
//
// Any thread, green or plain. Green threads of go() and async() are not covered; those of a scope
// (scope.h) are.
//
// See: docs/cancellation.md
#pragma once

#include <chrono>
#include <stop_token>
#include <utility>

#include <weft/detail/cancel.h>
#include <weft/detail/require.h>
#include <weft/detail/time_point.h>
#include <weft/error.h>

namespace weft {

namespace detail {

// A std::stop_callback for with_stop_token.
struct cancel_on_stop {
    cancel_context& context;

    void operator()() const noexcept { context.cancel(); }
};

}  // namespace detail

/// Calls f and returns its result. Waits in f throw timed_out when deadline passes. Of nested
/// deadlines the earliest applies.
template <typename Clock, typename Duration, typename F>
decltype(auto) with_deadline(std::chrono::time_point<Clock, Duration> deadline, F&& f) {
    detail::cancel_context context(detail::enclosing_context(), detail::deadline_at(deadline));
    const detail::ambient_scope scope(&context);
    return std::forward<F>(f)();
}

/// As with_deadline, from now.
template <typename Rep, typename Period, typename F>
decltype(auto) with_timeout(std::chrono::duration<Rep, Period> timeout, F&& f) {
    detail::cancel_context context(detail::enclosing_context(), detail::deadline_after(timeout));
    const detail::ambient_scope scope(&context);
    return std::forward<F>(f)();
}

/// Calls f and returns its result. Waits in f throw cancelled when a stop is requested through
/// token.
template <typename F>
decltype(auto) with_stop_token(std::stop_token token, F&& f) {
    detail::cancel_context context(detail::enclosing_context(), detail::never);
    const std::stop_callback<detail::cancel_on_stop> on_stop(std::move(token), detail::cancel_on_stop{context});
    const detail::ambient_scope scope(&context);
    return std::forward<F>(f)();
}

/// Calls f; nothing around it interrupts its waits. For work that must be finished, such as an
/// orderly goodbye.
template <typename F>
decltype(auto) shield(F&& f) {
    const detail::ambient_scope scope(detail::shield_context(), false);
    return std::forward<F>(f)();
}

/// Throws cancelled or timed_out if the next wait would. For long computations. Does nothing while
/// an exception unwinds the stack.
void throw_if_cancelled();

namespace this_g {

/// A token that is stopped when the caller's waits are cancelled or their deadline passes. For code
/// that computes, or takes a token. Empty (stop_possible() is false) if nothing can cancel. May
/// outlive its cause. Under a deadline it takes a timer, and throws what after_func() throws.
/// Throws std::bad_alloc.
[[nodiscard]] std::stop_token stop_token();

}  // namespace this_g

}  // namespace weft
