// timer.h: timers, tickers, and functions that run later, as in Go.
//
//     weft::timer t(100ms);                        // one tick on t.chan(), unless it is stopped or reset before
//     weft::ticker every(10ms);                    // a tick every 10 ms
//     auto c = weft::after(1s);                    // a channel alone
//     weft::timer later = weft::after_func(1s, f); // f() on a green thread of its own, unless later is stopped or dropped before
//
// A tick is the time at which it was due, also if it comes late. It waits in the channel until it is received, stopped, or reset: after
// stop() or reset() has returned, no tick from before is received any more. So the channel counts as unbuffered: its len() and cap()
// are 0. A ticker does not count what nobody received: while one tick waits, the next ones are skipped.
//
// Dropping a timer or a ticker stops it, but for a tick that waits already; who receives from its channel after that waits for ever.
// detach() lets a timer go on without its handle. What after() returns is such a timer: it is given up when the last handle of the
// channel is dropped.
//
// A timer belongs to the runtime of whoever starts it: the green thread that makes it, or resets it when it is not running; for a
// plain thread that is the default runtime. When that runtime is stopped the timer is, too. Nothing is ever early, and nothing is
// rounded. Durations beyond the clock's range never end; zero and negative ones end at once.
//
// Who:  any thread. stop() and reset() of one timer may be called by several at once.
// Cost: making, stopping and resetting take the same time however many timers there are; one allocation for each timer.
// See:  docs/timers.md
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

// What a timer has to know of the type of its function.
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

// A timer that is not running, with one handle. f: it calls that; nullptr: it ticks. Throws std::bad_alloc.
[[nodiscard]] timer_state* timer_make(const timed_function* f, source_location where);

// Where its function goes, right after timer_make; and the way back if that throws.
[[nodiscard]] void* timer_function(timer_state& t) noexcept;
void timer_abandon(timer_state* t) noexcept;

// Lets it begin (again): due in delay_ns, and then every period_ns if that is not 0. Takes what firing needs. Returns whether it was
// running, or its tick had not been received. Throws resource_exhausted or std::bad_alloc; then it is as before.
bool timer_start(timer_state& t, int64_t delay_ns, int64_t period_ns);

// Returns as timer_start.
bool timer_stop(timer_state& t) noexcept;

// The handle goes: timer_drop stops it, timer_detach does not.
void timer_drop(timer_state* t) noexcept;
void timer_detach(timer_state* t) noexcept;

using tick = std::chrono::steady_clock::time_point;

// Nil if it calls a function.
[[nodiscard]] recv_chan<tick> timer_chan(timer_state& t) noexcept;

// A ticker with a period of 0 or less.
[[noreturn]] void throw_period_too_short();

// A handle is used that holds nothing.
[[noreturn]] void fatal_empty_timer(const char* what) noexcept;

// The only handle of a timer, or none.
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

    // The timer; fatal if there is none. what: "stop of an empty weft::timer" and the like.
    [[nodiscard]] timer_state& checked(const char* what) const noexcept {
        if (state_ == nullptr) fatal_empty_timer(what);
        return *state_;
    }

    timer_state* let_go() noexcept { return std::exchange(state_, nullptr); }

private:
    timer_state* state_ = nullptr;
};

}  // namespace detail

// One tick, or one call of a function, later. Move-only.
class [[nodiscard]] timer {
public:
    // No timer: to be assigned to. All but that is a fatal error.
    timer() noexcept = default;

    // Ticks once on chan(), in delay. Throws std::bad_alloc; in a plain thread also as runtime's constructor.
    template <typename Rep, typename Period>
    explicit timer(std::chrono::duration<Rep, Period> delay)
        : handle_(detail::timer_make(nullptr, source_location::current())) {
        detail::timer_start(state("start of an empty weft::timer"), detail::saturated_ns(delay), 0);
    }

    // Where the tick comes. A handle of its own. Nil for a timer of after_func().
    [[nodiscard]] recv_chan<std::chrono::steady_clock::time_point> chan() const {
        return detail::timer_chan(state("chan of an empty weft::timer"));
    }

    // Stops it. Returns whether that prevented a tick from being received, or the function from being called; false if it was received
    // or called, or the timer was stopped already. Does not wait for a function that runs.
    bool stop() noexcept { return detail::timer_stop(state("stop of an empty weft::timer")); }

    // Stops it and lets it begin again: in delay from now. Returns as stop(). Of a function: a call that goes on is not waited for,
    // so that the next one may run beside it. Throws as the constructor or after_func() if it was not running; nothing has
    // happened then.
    template <typename Rep, typename Period>
    bool reset(std::chrono::duration<Rep, Period> delay) {
        return detail::timer_start(state("reset of an empty weft::timer"), detail::saturated_ns(delay), 0);
    }

    // Lets go of it without stopping it; the handle is empty then. A tick that nobody can receive any more is given up, a function is
    // called all the same.
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

// A tick every period. Move-only.
class [[nodiscard]] ticker {
public:
    // No ticker: to be assigned to. All but that is a fatal error.
    ticker() noexcept = default;

    // Ticks on chan(), for the first time in period. Throws std::invalid_argument if period is not above zero, and as timer.
    template <typename Rep, typename Period>
    explicit ticker(std::chrono::duration<Rep, Period> period)
        : handle_((check(period), detail::timer_make(nullptr, source_location::current()))) {
        detail::timer_start(state("start of an empty weft::ticker"), check(period), check(period));
    }

    // Where the ticks come. A handle of its own. It is not closed when the ticker is stopped.
    [[nodiscard]] recv_chan<std::chrono::steady_clock::time_point> chan() const {
        return detail::timer_chan(state("chan of an empty weft::ticker"));
    }

    // No tick is received after this.
    void stop() noexcept { detail::timer_stop(state("stop of an empty weft::ticker")); }

    // Begins again with another period; the first tick comes in period from now. Throws as the constructor.
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

// A channel on which a tick comes in delay. As a timer that was detached: nothing of it is left when it was received, or when the last
// handle of the channel is gone.
template <typename Rep, typename Period>
[[nodiscard]] recv_chan<std::chrono::steady_clock::time_point> after(std::chrono::duration<Rep, Period> delay) {
    timer t(delay);
    auto c = t.chan();
    t.detach();
    return c;
}

// Calls f() in delay, on a green thread of its own, for which everything is taken now: then it cannot fail. f is copied or moved, and
// destroyed when the timer is dropped and no call goes on. An exception that leaves f ends the process, as for go(). Throws as
// go(); nothing is going to happen then. where: where dumps say that it was started.
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
