// future.h: the result of a green thread, and waiting for it.
//
// async(f) starts f and returns a future for its result or exception. get() waits, parking a green
// thread or blocking a plain one. Dropping a future neither waits nor cancels. An exception that no
// get() has taken when the last reference goes is passed to a hook; the default prints one line on
// stderr. A function that waits for the future it must fulfil would wait for ever: fatal.
//
// See: docs/futures.md
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <weft/detail/cancel.h>
#include <weft/detail/continuation.h>
#include <weft/detail/count_word.h>
#include <weft/detail/future_core.h>
#include <weft/detail/locals.h>
#include <weft/detail/owner.h>
#include <weft/detail/require.h>
#include <weft/detail/source_location.h>
#include <weft/detail/time_point.h>
#include <weft/go.h>

namespace weft {

/// The hook for exceptions that no get() has taken. Any thread may call it; it must not throw.
/// Returns the previous hook. nullptr restores the line on stderr.
using unobserved_exception_hook = void (*)(const std::exception_ptr&);
unobserved_exception_hook set_unobserved_exception_hook(unobserved_exception_hook hook) noexcept;

namespace detail {

// Shared by the future and its producer.
template <typename T>
class future_state : public future_core {
public:
    using stored = std::conditional_t<std::is_void_v<T>,
                                      std::monostate,
                                      std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>>;

    // State of an async call in context parent (nullptr: none).
    explicit future_state(cancel_context* parent = nullptr) : future_core(parent, claim_state::taken, nullptr) {}

    // Runs f, which cancel() may interrupt, and stores its result or exception.
    template <typename F>
    void fulfil(F& f) noexcept {
        const ambient_scope ambient(&context_, false);
        begin();
        try {
            if constexpr (std::is_void_v<T>) {
                f();
                value_.emplace();
            } else if constexpr (std::is_reference_v<T>) {
                value_.emplace(&f());
            } else {
                value_.emplace(f());
            }
        } catch (...) {
            error_ = std::current_exception();
        }
    }

    // Stores a value.
    template <typename... Args>
    void store(Args&&... args) {
        value_.emplace(std::forward<Args>(args)...);
    }

    // After wait(): returns the value, moved, or throws the exception.
    T take() {
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
        if constexpr (std::is_reference_v<T>) {
            return **value_;
        } else if constexpr (!std::is_void_v<T>) {
            return std::move(*value_);
        }
    }

protected:
    future_state(claim_state claim, derivation* derived) : future_core(nullptr, claim, derived) {}

private:
    // Written before complete(), read after wait().
    std::optional<stored> value_;
};

// State of a promise.
template <typename T>
class promise_state : public future_state<T> {
public:
    promise_state() : future_state<T>(future_core::claim_state::open, nullptr) {}
};

// State of a future made from others. Sources: a std::array or std::vector of
// std::weak_ptr<future_core>.
template <typename T, typename Sources>
class derived_state : public future_state<T> {
public:
    explicit derived_state(Sources sources)
        : future_state<T>(future_core::claim_state::taken, &from_),
          sources_(std::move(sources)),
          from_(sources_.data(), sources_.size()) {}

    // See derivation.
    void let_go() noexcept { from_.let_go(); }

private:
    Sources sources_;
    derivation from_;
};

struct future_access;

}  // namespace detail

/// The result of an async() call. Move-only. Only one thread may use it at a time.
template <typename T>
class [[nodiscard]] future {
public:
    future() noexcept = default;
    future(future&&) noexcept = default;
    future& operator=(future&&) noexcept = default;
    future(const future&) = delete;
    future& operator=(const future&) = delete;
    ~future() = default;

    /// Returns whether there is a result to get().
    [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

    /// Returns whether get() would return at once. Requires valid().
    [[nodiscard]] bool is_ready() const { return checked().is_ready(); }

    /// Blocks until the result is available. Throws std::future_error unless valid(). This and all
    /// other waits are cancellation points (cancel.h): interrupted, they throw cancelled or
    /// timed_out, and the future stays valid.
    void wait() const { checked().wait_until(detail::never); }

    /// Calls f(result) on a new green thread when the result is available, never within the call
    /// that provides it. Returns a future for what f returns or throws; an exception instead of the
    /// result goes there directly. Consumes this future. Binds no stack while it waits. Throws as
    /// go(), with this future unchanged.
    /// cancel() of the new future also cancels this one. An f that has not begun by then is not
    /// called; get() throws cancelled, or this future's exception if that comes first.
    template <typename F>
    [[nodiscard]] auto then(F f, source_location where = source_location::current());

    /// Asks the work for the result to end, without waiting; get() waits and returns the outcome.
    /// Any thread; requires valid().
    /// - async: subsequent waits of the green thread throw cancelled (cancel.h).
    /// - a promise: the future becomes ready, with cancelled, unless there is a result.
    /// - then, when_all, when_any: also cancels all futures it was made from.
    /// - a coroutine: no effect.
    void cancel() const { checked().cancel(); }

    /// Blocks until the result is available or time is up: std::future_status::ready or ::timeout.
    template <typename Rep, typename Period>
    [[nodiscard]] std::future_status wait_for(std::chrono::duration<Rep, Period> timeout) const {
        return status_of(checked().wait_until(detail::deadline_after(timeout)));
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] std::future_status wait_until(std::chrono::time_point<Clock, Duration> deadline) const {
        return status_of(checked().wait_until(detail::deadline_at(deadline)));
    }

    /// Blocks until the result is available. Moves it out, or throws the exception that ended the
    /// green thread. The future is invalid afterwards. Throws std::future_error if it already is.
    T get() {
        wait();
        const std::shared_ptr<detail::future_state<T>> state = std::move(state_);
        return state->take();
    }

private:
    template <typename U>
    friend class future;

    template <typename F>
    friend auto async_on(detail::scheduler* s, const spawn_options* options, F&& f, source_location where)
        -> future<std::invoke_result_t<std::decay_t<F>&>>;

    friend struct detail::future_access;

    explicit future(std::shared_ptr<detail::future_state<T>> state) noexcept : state_(std::move(state)) {}

    detail::future_state<T>& checked() const {
        if (state_ == nullptr) throw std::future_error(std::future_errc::no_state);
        return *state_;
    }

    static std::future_status status_of(bool is_ready) noexcept {
        return is_ready ? std::future_status::ready : std::future_status::timeout;
    }

    std::shared_ptr<detail::future_state<T>> state_;
};

namespace detail {

// For select, and for futures made from others.
struct future_access {
    template <typename T>
    static future_state<T>& state(const future<T>& f) {
        return f.checked();
    }

    template <typename T>
    static std::weak_ptr<future_core> core(const future<T>& f) noexcept {
        return f.state_;
    }

    template <typename T>
    static future<T> make(std::shared_ptr<future_state<T>> state) {
        return future<T>(std::move(state));
    }
};

}  // namespace detail

template <typename T>
template <typename F>
auto future<T>::then(F f, source_location where) {
    static constexpr auto call = [](F& function, detail::future_state<T>& from) -> decltype(auto) {
        if constexpr (std::is_void_v<T>) {
            from.take();
            return function();
        } else {
            return function(from.take());
        }
    };
    using result = std::invoke_result_t<decltype(call), F&, detail::future_state<T>&>;
    using source = std::array<std::weak_ptr<detail::future_core>, 1>;
    checked();
    auto next = std::make_shared<detail::derived_state<result, source>>(source{state_});
    detail::go_when_zero(
        state_->pending(),
        [from = state_, next, function = std::optional<F>(std::move(f))]() mutable {
            next->let_go();
            if (!from->pass_error(*next)) {
                auto body = [&]() -> result {
                    if (next->cancel_requested()) detail::throw_interrupted(detail::wait_result::cancelled);
                    return call(*function, *from);
                };
                next->fulfil(body);
            }
            function.reset();
            next->complete();
        },
        where);
    state_ = nullptr;
    return future<result>(std::move(next));
}

/// As async(), on the runtime s. For runtime::async.
template <typename F>
auto async_on(detail::scheduler* s, const spawn_options* options, F&& f, source_location where)
    -> future<std::invoke_result_t<std::decay_t<F>&>> {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    auto state = std::make_shared<detail::future_state<result>>();
    detail::spawn(
        s, options,
        [state, body = std::optional<std::decay_t<F>>(std::forward<F>(f))]() mutable {
            state->fulfil(*body);
            body.reset();  // destroys what f owns before the result becomes visible
            detail::end_locals();
            state->complete();
        },
        where);
    return future<result>(std::move(state));
}

/// Starts f() as a green thread and returns a future for its result. Throws as go(). Allocates the
/// shared state.
template <typename F>
[[nodiscard]] auto async(F&& f, source_location where = source_location::current()) {
    return async_on(nullptr, nullptr, std::forward<F>(f), where);
}

template <typename F>
[[nodiscard]] auto async(const spawn_options& options, F&& f, source_location where = source_location::current()) {
    return async_on(nullptr, &options, std::forward<F>(f), where);
}

}  // namespace weft
