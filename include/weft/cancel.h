// cancel.h: deadlines and cancellation for whole pieces of code, without passing anything on.
//
//     weft::with_timeout(1s, [&] {
//         auto reply = ask(server);      // every wait in here ends after a second at the latest: it throws weft::timed_out
//         store(reply);
//     });
//
// What may end so is called a cancellation point: sending to and receiving from a channel, select, sleeping, future.get() and wait(),
// waiting for a condition variable, a semaphore or an event, and every form with _for or _until. There it is where they wait
// that they are interrupted: an operation that can be done at once is done, and one that was done is never undone. Never interrupted
// are lock() of anything, call_once, and whatever joins: wait_group::wait, latch::wait, barriers, the end of a scope; their
// forms with a deadline are.
//
// Interrupted, an operation throws weft::cancelled or weft::timed_out (error.h), which are not std::exceptions, and will do so again at
// the next wait. While an exception unwinds the stack, what is around the place where it was thrown interrupts nothing, so that
// destructors can wait; a deadline or a scope of a destructor's own does.
//
// Any thread, green or not. The green threads that go() and async() start are not part of it; those of a scope (scope.h) are.
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

// A std::stop_callback, as with_stop_token needs it.
struct cancel_on_stop {
    cancel_context& context;

    void operator()() const noexcept { context.cancel(); }
};

}  // namespace detail

// Calls f; waits in it end when deadline passes, by throwing timed_out. Returns what f returns. The earliest of the deadlines around
// a wait counts.
template <typename Clock, typename Duration, typename F>
decltype(auto) with_deadline(std::chrono::time_point<Clock, Duration> deadline, F&& f) {
    detail::cancel_context context(detail::enclosing_context(), detail::deadline_at(deadline));
    const detail::ambient_scope scope(&context);
    return std::forward<F>(f)();
}

// As with_deadline, from now.
template <typename Rep, typename Period, typename F>
decltype(auto) with_timeout(std::chrono::duration<Rep, Period> timeout, F&& f) {
    detail::cancel_context context(detail::enclosing_context(), detail::deadline_after(timeout));
    const detail::ambient_scope scope(&context);
    return std::forward<F>(f)();
}

// Calls f; waits in it end when token is asked to stop, by throwing cancelled. Returns what f returns.
template <typename F>
decltype(auto) with_stop_token(std::stop_token token, F&& f) {
    detail::cancel_context context(detail::enclosing_context(), detail::never);
    const std::stop_callback<detail::cancel_on_stop> on_stop(std::move(token), detail::cancel_on_stop{context});
    const detail::ambient_scope scope(&context);
    return std::forward<F>(f)();
}

// Calls f; nothing around this interrupts the waits in it. For what must be finished, such as saying goodbye.
template <typename F>
decltype(auto) shield(F&& f) {
    const detail::ambient_scope scope(detail::shield_context(), false);
    return std::forward<F>(f)();
}

// Throws cancelled or timed_out if the next wait would. For long computations. Does nothing while an exception unwinds the stack.
void throw_if_cancelled();

namespace this_g {

// A token that is asked to stop when the waits of the caller are cancelled or their deadline passes: for code that computes, or that
// takes one. Empty (stop_possible() is false) where nothing could cancel. Valid for longer than that. Under a deadline it takes a timer.
// Throws std::bad_alloc, and then what after_func() throws.
[[nodiscard]] std::stop_token stop_token();

}  // namespace this_g

}  // namespace weft
