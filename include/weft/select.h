// select.h: waits until one of several operations can proceed, and performs it, like Go's select.
//
//     weft::select(
//         weft::on_recv(requests, [&](std::optional<request> r) { … }),      // nullopt: closed and drained
//         weft::on_send(results, std::move(answer), [&] { … }),              // moved from only if this case happens
//         weft::on_timeout(100ms, [&] { … }),
//         weft::otherwise([&] { … }));                                       // nothing was ready: do not wait
//
//     auto r = weft::select(weft::recv_case(a), weft::send_case(b, 42), weft::timeout_case(1s));  // a std::variant
//     if (r.index() == 0) use(std::get<0>(r));
//
// - Exactly one case happens. Of several ready cases one is chosen at random, with equal
//   probability; select_first takes the first in the order written.
// - A closed channel is ready: a receive yields nullopt, a send throws channel_closed. A nil
//   channel is never ready.
// - A select without a possible case waits for ever.
// - Functions are called last, when the select holds no state. They may block, throw or select
//   again.
// - A case refers to its channel and its value: make cases within the call, as above.
// - For cases known only at run time use select_set (select_set.h).
//
// Any thread. A cancellation point where it waits, unless there is an on_cancel case. O(cases);
// allocates nothing.
//
// See: docs/select.md
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <weft/chan.h>
#include <weft/detail/require.h>
#include <weft/detail/select_case.h>
#include <weft/detail/step.h>
#include <weft/detail/time_point.h>
#include <weft/error.h>
#include <weft/event.h>
#include <weft/future.h>

namespace weft {

namespace detail {

// The function of a case in value form.
struct no_function {};

// A case. prepare() fills in its part of the select. If it happens, a select in value form returns
// result(); one in callback form calls call().
template <typename T, typename F>
class recv_select_case {
public:
    using value_type = std::optional<T>;
    static constexpr bool calls = !std::is_same_v<F, no_function>;

    recv_select_case(chan_state<T>* from, F f) : from_(from), f_(std::move(f)) {}

    [[nodiscard]] bool seems_ready() const noexcept { return from_ != nullptr && from_->may_recv(); }

    void prepare(select_request& /*r*/, select_case& c, std::size_t /*index*/) noexcept {
        chan_recv_case<T>::prepare(c, from_, value_);
    }

    value_type result(const select_case& /*c*/) { return std::move(value_); }

    void call(const select_case& /*c*/) { f_(std::move(value_)); }

private:
    chan_state<T>* from_;
    std::optional<T> value_;
    [[no_unique_address]] F f_;
};

// Value is T (owned), or T&&: a reference to an object that is moved from only on success.
template <typename T, typename Value, typename F>
class send_select_case {
public:
    using value_type = std::monostate;
    static constexpr bool calls = !std::is_same_v<F, no_function>;

    send_select_case(chan_state<T>* to, Value value, F f)
        : to_(to), value_(static_cast<Value&&>(value)), f_(std::move(f)) {}

    [[nodiscard]] bool seems_ready() const noexcept { return to_ != nullptr && to_->may_send(); }

    void prepare(select_request& /*r*/, select_case& c, std::size_t /*index*/) noexcept {
        chan_send_case<T>::prepare(c, to_, value_);
    }

    value_type result(const select_case& c) {
        if (!c.w.ok) throw channel_closed();
        return {};
    }

    void call(const select_case& c) {
        if (!c.w.ok) throw channel_closed();
        f_();
    }

private:
    chan_state<T>* to_;
    Value value_;
    [[no_unique_address]] F f_;
};

// Cases that carry no value.
template <typename F>
class plain_select_case {
public:
    using value_type = std::monostate;
    static constexpr bool calls = !std::is_same_v<F, no_function>;

    explicit plain_select_case(F f) : f_(std::move(f)) {}

    value_type result(const select_case& /*c*/) { return {}; }

    void call(const select_case& /*c*/) { f_(); }

private:
    [[no_unique_address]] F f_;
};

template <typename F>
class timeout_select_case : public plain_select_case<F> {
public:
    timeout_select_case(int64_t deadline_ns, F f) : plain_select_case<F>(std::move(f)), deadline_ns_(deadline_ns) {}

    void prepare(select_request& r, select_case& /*c*/, std::size_t index) noexcept {
        if (r.deadline_case != no_case && r.deadline_ns <= deadline_ns_) return;
        r.deadline_ns = deadline_ns_;
        r.deadline_case = index;
    }

private:
    int64_t deadline_ns_;
};

template <typename F>
class otherwise_select_case : public plain_select_case<F> {
public:
    using plain_select_case<F>::plain_select_case;

    void prepare(select_request& r, select_case& /*c*/, std::size_t index) noexcept { r.otherwise_case = index; }
};

template <typename F>
class cancel_select_case : public plain_select_case<F> {
public:
    using plain_select_case<F>::plain_select_case;

    void prepare(select_request& r, select_case& /*c*/, std::size_t index) noexcept { r.cancel_case = index; }
};

// A case that happens when a count_word is zero.
struct count_select_case {
    static const select_ops ops;

    static void prepare(select_case& c, count_word& count) noexcept;
};

template <typename T, typename F>
class future_select_case : public plain_select_case<F> {
public:
    future_select_case(future_state<T>& of, F f) : plain_select_case<F>(std::move(f)), of_(of) {}

    void prepare(select_request& /*r*/, select_case& c, std::size_t /*index*/) noexcept {
        count_select_case::prepare(c, of_.pending());
    }

private:
    future_state<T>& of_;
};

// A case that happens when an event is set.
struct event_case {
    static const select_ops ops;

    static void prepare(select_case& c, event_core& e) noexcept;
};

template <typename F>
class event_select_case : public plain_select_case<F> {
public:
    event_select_case(event_core& of, F f) : plain_select_case<F>(std::move(f)), of_(of) {}

    void prepare(select_request& /*r*/, select_case& c, std::size_t /*index*/) noexcept { event_case::prepare(c, of_); }

private:
    event_core& of_;
};

template <typename Case>
inline constexpr bool is_otherwise = false;
template <typename F>
inline constexpr bool is_otherwise<otherwise_select_case<F>> = true;

template <typename Case>
concept channel_select_case = requires(const Case& c) { c.seems_ready(); };

// One channel, and otherwise(): a look without the lock proves that nothing could happen then, so
// such a select costs little more than the look. Steps of a simulation are left to select_among().
template <typename Case, typename Otherwise>
[[gnu::always_inline]] inline bool nothing_is_ready(const Case& c, const Otherwise& other) noexcept {
    if constexpr (channel_select_case<Case> && is_otherwise<Otherwise>) {
        return !simulates() && !c.seems_ready();
    } else if constexpr (is_otherwise<Case> && channel_select_case<Otherwise>) {
        return nothing_is_ready(other, c);
    } else {
        return false;
    }
}

template <bool InOrder, typename... Cases>
auto select_of(Cases&&... cases) {
    constexpr std::size_t n = sizeof...(Cases);
    constexpr bool calls = (std::decay_t<Cases>::calls || ... || (n == 0));
    static_assert(n == 0 || calls == (std::decay_t<Cases>::calls && ...),
                  "weft::select: either every case has a function (on_recv, on_send, on_timeout …), or none has");
    using values = std::variant<typename std::decay_t<Cases>::value_type...>;
    if constexpr (n == 2) {
        if (nothing_is_ready(cases...)) {
            constexpr std::size_t at = (std::array{is_otherwise<std::decay_t<Cases>>...})[0] ? 0 : 1;
            auto& other = std::get<at>(std::tie(cases...));
            const select_case unused;
            if constexpr (calls) {
                other.call(unused);
                return at;
            } else {
                return values(std::in_place_index<at>, other.result(unused));
            }
        }
    }
    std::array<select_case, n + (n == 0 ? 1 : 0)> raw;
    std::array<held_lock, n + (n == 0 ? 1 : 0)> locks;
    select_request request{.cases = raw.data(), .count = n, .locks = locks.data(), .in_order = InOrder};
    std::size_t at = 0;
    ((cases.prepare(request, raw[at], at), ++at), ...);
    const std::size_t chosen = select_among(request);

    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        if constexpr (calls) {
            static_cast<void>(((chosen == I ? (cases.call(raw[I]), true) : false) || ...));
            return chosen;
        } else {
            std::optional<values> r;
            static_cast<void>(
                ((chosen == I ? (r.emplace(std::in_place_index<I>, cases.result(raw[I])), true) : false) || ...));
            return std::move(*r);
        }
    }(std::index_sequence_for<Cases...>{});
}

}  // namespace detail

// ---- Cases with a function, called if the case happens.

/// Receives from c; f takes a std::optional<T>. c must outlive the call.
template <typename T, typename F>
[[nodiscard]] auto on_recv(const chan<T>& c, F f) {
    return detail::recv_select_case<T, F>(detail::chan_access::state(c), std::move(f));
}

template <typename T, typename F>
[[nodiscard]] auto on_recv(const recv_chan<T>& c, F f) {
    return detail::recv_select_case<T, F>(detail::chan_access::state(c), std::move(f));
}

/// Sends value to c. An rvalue is moved from only if this case happens; an lvalue is copied
/// beforehand.
template <typename T, typename F>
[[nodiscard]] auto on_send(const chan<T>& c, std::type_identity_t<T>&& value, F f) {
    return detail::send_select_case<T, T&&, F>(detail::chan_access::state(c), std::move(value), std::move(f));
}

template <typename T, typename F>
[[nodiscard]] auto on_send(const chan<T>& c, const std::type_identity_t<T>& value, F f) {
    return detail::send_select_case<T, T, F>(detail::chan_access::state(c), T(value), std::move(f));
}

template <typename T, typename F>
[[nodiscard]] auto on_send(const send_chan<T>& c, std::type_identity_t<T>&& value, F f) {
    return detail::send_select_case<T, T&&, F>(detail::chan_access::state(c), std::move(value), std::move(f));
}

template <typename T, typename F>
[[nodiscard]] auto on_send(const send_chan<T>& c, const std::type_identity_t<T>& value, F f) {
    return detail::send_select_case<T, T, F>(detail::chan_access::state(c), T(value), std::move(f));
}

/// Happens after timeout, or at deadline. A timeout of zero or less acts like otherwise(), and so
/// does a past deadline, except that a cancelled caller is interrupted.
template <typename Rep, typename Period, typename F>
[[nodiscard]] auto on_timeout(std::chrono::duration<Rep, Period> timeout, F f) {
    return detail::timeout_select_case<F>(detail::deadline_after(timeout), std::move(f));
}

template <typename Clock, typename Duration, typename F>
[[nodiscard]] auto on_timeout(std::chrono::time_point<Clock, Duration> deadline, F f) {
    return detail::timeout_select_case<F>(detail::deadline_at(deadline), std::move(f));
}

/// Happens when the result of fut is available; fut.get() then does not wait. Throws
/// std::future_error unless fut.valid().
template <typename T, typename F>
[[nodiscard]] auto on_future(const future<T>& fut, F f) {
    return detail::future_select_case<T, F>(detail::future_access::state(fut), std::move(f));
}

/// Happens when e is set. e must outlive the call.
template <typename F>
[[nodiscard]] auto on_event(event& e, F f) {
    return detail::event_select_case<F>(detail::core_of(e), std::move(f));
}

/// Happens when a scope or deadline around the select cancels the wait, instead of an exception.
template <typename F>
[[nodiscard]] auto on_cancel(F f) {
    return detail::cancel_select_case<F>(std::move(f));
}

/// Happens if no other case is ready: the select does not wait.
template <typename F>
[[nodiscard]] auto otherwise(F f) {
    return detail::otherwise_select_case<F>(std::move(f));
}

// ---- The same without functions: recv_case yields std::optional<T>, all others std::monostate.

template <typename T>
[[nodiscard]] auto recv_case(const chan<T>& c) {
    return on_recv(c, detail::no_function{});
}

template <typename T>
[[nodiscard]] auto recv_case(const recv_chan<T>& c) {
    return on_recv(c, detail::no_function{});
}

template <typename T>
[[nodiscard]] auto send_case(const chan<T>& c, std::type_identity_t<T>&& value) {
    return on_send(c, std::move(value), detail::no_function{});
}

template <typename T>
[[nodiscard]] auto send_case(const chan<T>& c, const std::type_identity_t<T>& value) {
    return on_send(c, value, detail::no_function{});
}

template <typename T>
[[nodiscard]] auto send_case(const send_chan<T>& c, std::type_identity_t<T>&& value) {
    return on_send(c, std::move(value), detail::no_function{});
}

template <typename T>
[[nodiscard]] auto send_case(const send_chan<T>& c, const std::type_identity_t<T>& value) {
    return on_send(c, value, detail::no_function{});
}

template <typename Rep, typename Period>
[[nodiscard]] auto timeout_case(std::chrono::duration<Rep, Period> timeout) {
    return on_timeout(timeout, detail::no_function{});
}

template <typename Clock, typename Duration>
[[nodiscard]] auto timeout_case(std::chrono::time_point<Clock, Duration> deadline) {
    return on_timeout(deadline, detail::no_function{});
}

template <typename T>
[[nodiscard]] auto ready_case(const future<T>& fut) {
    return on_future(fut, detail::no_function{});
}

[[nodiscard]] inline auto ready_case(event& e) { return on_event(e, detail::no_function{}); }

[[nodiscard]] inline auto cancel_case() { return on_cancel(detail::no_function{}); }

[[nodiscard]] inline auto otherwise() { return otherwise(detail::no_function{}); }

// The names that these had before. They read like the operations themselves.

template <typename Chan>
[[deprecated("use recv_case")]] [[nodiscard]] auto recv(const Chan& c) -> decltype(recv_case(c)) {
    return recv_case(c);
}

template <typename T>
[[deprecated("use send_case")]] [[nodiscard]] auto send(const chan<T>& c, std::type_identity_t<T>&& value) {
    return send_case(c, std::move(value));
}

template <typename T>
[[deprecated("use send_case")]] [[nodiscard]] auto send(const chan<T>& c, const std::type_identity_t<T>& value) {
    return send_case(c, value);
}

template <typename T>
[[deprecated("use send_case")]] [[nodiscard]] auto send(const send_chan<T>& c, std::type_identity_t<T>&& value) {
    return send_case(c, std::move(value));
}

template <typename T>
[[deprecated("use send_case")]] [[nodiscard]] auto send(const send_chan<T>& c, const std::type_identity_t<T>& value) {
    return send_case(c, value);
}

template <typename Time>
[[deprecated("use timeout_case")]] [[nodiscard]] auto timeout(Time when) -> decltype(timeout_case(when)) {
    return timeout_case(when);
}

template <typename T>
[[deprecated("use ready_case")]] [[nodiscard]] auto ready(const future<T>& fut) {
    return ready_case(fut);
}

[[deprecated("use ready_case")]] [[nodiscard]] inline auto ready(event& e) { return ready_case(e); }

[[deprecated("use cancel_case")]] [[nodiscard]] inline auto cancellation() { return cancel_case(); }

// ---- The select itself.

/// Performs one case, chosen at random among the ready ones; waits until there is one. Callback
/// form: calls the case's function and returns its index. Value form: returns a std::variant with
/// one alternative per case. Throws channel_closed for a chosen send on a closed channel, cancelled
/// or timed_out on cancellation, and what the function throws.
template <typename... Cases>
auto select(Cases&&... cases) {
    return detail::select_of<false>(std::forward<Cases>(cases)...);
}

/// Like select(), but takes the first of the ready cases.
template <typename... Cases>
auto select_first(Cases&&... cases) {
    return detail::select_of<true>(std::forward<Cases>(cases)...);
}

}  // namespace weft
