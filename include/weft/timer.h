// timer.h: timers, tickers and delayed functions, as in Go.
//
//     weft::timer t(100ms);                        // one tick on t.chan(), unless it is stopped or reset before
//     weft::ticker every(10ms);                    // a tick every 10 ms
//     auto c = weft::after(1s);                    // a channel alone
//     weft::timer later = weft::after_func(1s, f); // f() on a green thread of its own, unless stopped or dropped
//
// A tick is the time at which it was due, even if it comes late. It stays in the channel until it
// is received, stopped or reset: after stop() or reset() has returned, no earlier tick is received.
// So the channel counts as unbuffered: its len() and cap() are 0. While one tick waits, a ticker
// skips the next ones.
//
// Dropping a timer or ticker stops it, except for a tick that already waits; later receives wait
// for ever. A timer runs on without its handle after detach(). The timer behind after() is of that
// kind, and is dropped with the last handle of its channel.
//
// A timer belongs to the runtime of the green thread that makes it, or resets it when it is not
// running; for a plain thread to the default runtime. It stops with that runtime. Nothing is early
// or rounded. Durations beyond the clock's range never end; zero and negative ones end at once.
//
// Threads: any thread. Several threads may call stop() and reset() of one timer at once.
// Cost:    making, stopping and resetting are O(1) in the number of timers; one allocation per timer.
// See:     docs/timers.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <weft/chan.h>
#include <weft/detail/require.h>
#include <weft/detail/source_location.h>
#include <weft/detail/time_point.h>

namespace weft {

namespace detail {

struct timer_state;
struct timer_access;

// What a timer needs to know about its function's type.
struct timed_function {
    void (*call)(void* f);
    void (*destroy)(void* f) noexcept;
    std::size_t size;
    std::size_t align;
};

template <typename F>
[[gnu::visibility("hidden")]] inline constexpr timed_function timed_function_of = {
    [](void* f) { (*static_cast<F*>(f))(); },
    [](void* f) noexcept { static_cast<F*>(f)->~F(); },
    sizeof(F),
    alignof(F),
};

// Makes a stopped timer with one handle. It calls f, or ticks if f is nullptr. Throws
// std::bad_alloc.
[[nodiscard]] timer_state* timer_make(const timed_function* f, source_location where);

// Where its function goes, directly after timer_make. timer_abandon undoes timer_make if that
// throws.
[[nodiscard]] void* timer_function(timer_state& t) noexcept;
void timer_abandon(timer_state* t) noexcept;

// Starts or restarts it: due in delay_ns, then every period_ns unless that is 0. Returns whether
// it was running, or its tick had not been received. In a plain thread it may start the default
// runtime, and throws if that does; the timer is then unchanged.
bool timer_start(timer_state& t, int64_t delay_ns, int64_t period_ns);

// Returns as timer_start.
bool timer_stop(timer_state& t) noexcept;

// Release the handle: timer_drop stops the timer, timer_detach does not.
void timer_drop(timer_state* t) noexcept;
void timer_detach(timer_state* t) noexcept;

using tick = std::chrono::steady_clock::time_point;

// Nil if the timer calls a function.
[[nodiscard]] recv_chan<tick> timer_chan(timer_state& t) noexcept;

// For a ticker with a period of 0 or less.
[[noreturn]] void throw_period_too_short();

// Reports the use of an empty handle.
[[noreturn]] void fatal_empty_timer(const char* what) noexcept;

// The only handle of a timer, or empty.
class timer_handle {
public:
    timer_handle() noexcept = default;

    explicit timer_handle(timer_state* state) noexcept : state_(state) {}

    timer_handle(timer_handle&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

    timer_handle& operator=(timer_handle&& other) noexcept {
        timer_handle before(std::exchange(state_, std::exchange(other.state_, nullptr)));
        return *this;
    }

    ~timer_handle() {
        if (state_ != nullptr) timer_drop(state_);
    }

    [[nodiscard]] bool empty() const noexcept { return state_ == nullptr; }

    // Returns the timer; fatal if empty. what: "stop of an empty weft::timer" and the like.
    [[nodiscard]] timer_state& checked(const char* what) const noexcept {
        if (state_ == nullptr) fatal_empty_timer(what);
        return *state_;
    }

    timer_state* let_go() noexcept { return std::exchange(state_, nullptr); }

private:
    timer_state* state_ = nullptr;
};

}  // namespace detail

/// One delayed tick or function call. Move-only.
class [[nodiscard]] timer {
public:
    /// An empty handle, for assignment. Any other use is fatal.
    timer() noexcept = default;

    /// Ticks once on chan() after delay. Throws std::bad_alloc; in a plain thread also what
    /// runtime's constructor throws.
    template <typename Rep, typename Period>
    explicit timer(std::chrono::duration<Rep, Period> delay)
        : handle_(detail::timer_make(nullptr, source_location::current())) {
        detail::timer_start(state("start of an empty weft::timer"), detail::saturated_ns(delay), 0);
    }

    /// A new handle of the channel that gets the tick. Nil for a timer of after_func().
    [[nodiscard]] recv_chan<std::chrono::steady_clock::time_point> chan() const {
        return detail::timer_chan(state("chan of an empty weft::timer"));
    }

    /// Stops it. Returns whether that prevented a tick from being received, or the function from
    /// being called; false if either had happened, or the timer was stopped. Does not wait for a
    /// running function.
    bool stop() noexcept { return detail::timer_stop(state("stop of an empty weft::timer")); }

    /// Stops it and restarts it, due in delay from now. Returns as stop(). Does not wait for a
    /// running function, so calls may overlap. Throws as the constructor or after_func() if it was
    /// not running; nothing has changed then.
    template <typename Rep, typename Period>
    bool reset(std::chrono::duration<Rep, Period> delay) {
        return detail::timer_start(state("reset of an empty weft::timer"), detail::saturated_ns(delay), 0);
    }

    /// Releases the timer without stopping it; the handle becomes empty. A tick that no thread can
    /// receive is dropped; a function is still called.
    void detach() noexcept {
        static_cast<void>(state("detach of an empty weft::timer"));
        detail::timer_detach(handle_.let_go());
    }

private:
    friend struct detail::timer_access;

    explicit timer(detail::timer_state* state) noexcept : handle_(state) {}

    [[nodiscard]] detail::timer_state& state(const char* what) const noexcept { return handle_.checked(what); }

    detail::timer_handle handle_;
};

namespace detail {

struct timer_access {
    static weft::timer handle(timer_state* t) noexcept { return weft::timer(t); }
};

}  // namespace detail

/// A tick every period. Move-only.
class [[nodiscard]] ticker {
public:
    /// An empty handle, for assignment. Any other use is fatal.
    ticker() noexcept = default;

    /// Ticks on chan(), first after period. Throws std::invalid_argument if period is not positive,
    /// and as timer.
    template <typename Rep, typename Period>
    explicit ticker(std::chrono::duration<Rep, Period> period)
        : handle_((check(period), detail::timer_make(nullptr, source_location::current()))) {
        detail::timer_start(state("start of an empty weft::ticker"), check(period), check(period));
    }

    /// A new handle of the channel that gets the ticks. Stopping the ticker does not close it.
    [[nodiscard]] recv_chan<std::chrono::steady_clock::time_point> chan() const {
        return detail::timer_chan(state("chan of an empty weft::ticker"));
    }

    /// Stops the ticker. No tick is received after this.
    void stop() noexcept { detail::timer_stop(state("stop of an empty weft::ticker")); }

    /// Restarts with another period; the first tick comes after period. Throws as the constructor.
    template <typename Rep, typename Period>
    void reset(std::chrono::duration<Rep, Period> period) {
        detail::timer_start(state("reset of an empty weft::ticker"), check(period), check(period));
    }

private:
    template <typename Rep, typename Period>
    static int64_t check(std::chrono::duration<Rep, Period> period) {
        const int64_t ns = detail::saturated_ns(period);
        if (ns == 0) detail::throw_period_too_short();
        return ns;
    }

    [[nodiscard]] detail::timer_state& state(const char* what) const noexcept { return handle_.checked(what); }

    detail::timer_handle handle_;
};

/// A channel that gets one tick after delay. Like a detached timer: it is freed when the tick is
/// received, or the last handle of the channel is gone.
template <typename Rep, typename Period>
[[nodiscard]] recv_chan<std::chrono::steady_clock::time_point> after(std::chrono::duration<Rep, Period> delay) {
    timer t(delay);
    auto c = t.chan();
    t.detach();
    return c;
}

/// Calls f() after delay, on a new green thread. Everything for that is reserved now, so it cannot
/// fail later. f is copied or moved, and destroyed when the timer is dropped and no call runs. An
/// exception that leaves f ends the process, as for go(). Throws as go(); f is not called then.
/// where: the start location in dumps.
template <typename Rep, typename Period, typename F>
timer after_func(std::chrono::duration<Rep, Period> delay, F&& f, source_location where = source_location::current()) {
    using function = std::decay_t<F>;
    static_assert(std::is_invocable_v<function&>, "weft::after_func: the function must be callable without arguments");
    detail::timer_state* made = detail::timer_make(&detail::timed_function_of<function>, where);
    if constexpr (std::is_nothrow_constructible_v<function, F&&>) {
        ::new (detail::timer_function(*made)) function(std::forward<F>(f));
    } else {
        try {
            ::new (detail::timer_function(*made)) function(std::forward<F>(f));
        } catch (...) {
            detail::timer_abandon(made);
            throw;
        }
    }
    timer t = detail::timer_access::handle(made);
    detail::timer_start(*made, detail::saturated_ns(delay), 0);
    return t;
}

}  // namespace weft
