// future.h: the result of a green thread, waited for.
//
// async(f) starts f and returns a future for what it returns or throws. get() waits, parking a green thread or blocking a
// plain one. Dropping a future neither waits nor cancels. An exception that nobody has taken out when the last
// party lets go is reported to a hook; by default that is one line on stderr.
// A function that waits for the future that it is to fulfil would wait for ever: a fatal error.
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

// What is called with an exception that no get() has taken. Any thread, must not throw. Returns the previous hook; nullptr
// restores the line on stderr.
using unobserved_exception_hook = void (*)(const std::exception_ptr&);
unobserved_exception_hook set_unobserved_exception_hook(unobserved_exception_hook hook) noexcept;

namespace detail {

// Shared by the future and what will fulfil it.
template <typename T>
class future_state : public future_core {
public:
    using stored = std::conditional_t<std::is_void_v<T>,
                                      std::monostate,
                                      std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>>;

    // Of an async call, in parent (nullptr: in nothing).
    explicit future_state(cancel_context* parent = nullptr) : future_core(parent, claim_state::taken, nullptr) {}

    // Runs f, which cancel() may interrupt, and keeps what comes of it.
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

    // Keeps a value.
    template <typename... Args>
    void store(Args&&... args) {
        value_.emplace(std::forward<Args>(args)...);
    }

    // After wait(): the value, moved out, or the exception, thrown.
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

// Of a promise.
template <typename T>
class promise_state : public future_state<T> {
public:
    promise_state() : future_state<T>(future_core::claim_state::open, nullptr) {}
};

// Of a future that was made of others. Sources: a std::array or std::vector of std::weak_ptr<future_core>.
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

// The result of an async() call. Move-only. Not for use by several threads at once.
template <typename T>
class [[nodiscard]] future {
public:
    future() noexcept = default;
    future(future&&) noexcept = default;
    future& operator=(future&&) noexcept = default;
    future(const future&) = delete;
    future& operator=(const future&) = delete;
    ~future() = default;

    // Whether there is a result to get().
    [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

    // Whether get() would return at once. Requires valid().
    [[nodiscard]] bool is_ready() const { return checked().is_ready(); }

    // Blocks until the result is there. Requires valid(); else throws std::future_error. This, and all that wait, are cancellation points
    // (cancel.h): interrupted, they throw cancelled or timed_out, and the future stays valid.
    void wait() const { checked().wait_until(detail::never); }

    // f(result) on a green thread of its own once the result is there, never within the call that provides it; a future for what it
    // returns or throws. An exception in place of the result goes there instead. Uses this future up. No stack is bound while it
    // waits. Throws what go() throws, and then is as before. cancel() of the new future is one of this future, too; an f that
    // has not begun by then is not called, and get() throws cancelled unless the exception of this future comes first.
    template <typename F>
    [[nodiscard]] auto then(F f, source_location where = source_location::current());

    // Asks the work for the result to end: the waits of the green thread throw cancelled from now on (cancel.h). Does not wait for that:
    // get() does, and tells what came of it. Of a promise's future: it is ready, with cancelled, unless there is a result. Of one
    // made by then, when_all or when_any: of all that it was made of, too. Of a coroutine's: nothing. Any thread; requires valid().
    void cancel() const { checked().cancel(); }

    // Blocks until the result is there or the time is up: std::future_status::ready or ::timeout.
    template <typename Rep, typename Period>
    [[nodiscard]] std::future_status wait_for(std::chrono::duration<Rep, Period> timeout) const {
        return status_of(checked().wait_until(detail::deadline_after(timeout)));
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] std::future_status wait_until(std::chrono::time_point<Clock, Duration> deadline) const {
        return status_of(checked().wait_until(detail::deadline_at(deadline)));
    }

    // Blocks until the result is there and moves it out, or throws the exception that ended the green thread. Once: the
    // future is invalid afterwards. Throws std::future_error if it is already.
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

// For select, and for what is made of futures.
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

// As async(), on the runtime s. For runtime::async.
template <typename F>
auto async_on(detail::scheduler* s, const spawn_options* options, F&& f, source_location where)
    -> future<std::invoke_result_t<std::decay_t<F>&>> {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    auto state = std::make_shared<detail::future_state<result>>();
    detail::spawn(
        s, options,
        [state, body = std::optional<std::decay_t<F>>(std::forward<F>(f))]() mutable {
            state->fulfil(*body);
            body.reset();  // what f holds is gone before anybody can see the result
            detail::end_locals();
            state->complete();
        },
        where);
    return future<result>(std::move(state));
}

// Starts f() as a green thread and returns a future for its result. Throws as go(). Allocates the shared state.
template <typename F>
[[nodiscard]] auto async(F&& f, source_location where = source_location::current()) {
    return async_on(nullptr, nullptr, std::forward<F>(f), where);
}

template <typename F>
[[nodiscard]] auto async(const spawn_options& options, F&& f, source_location where = source_location::current()) {
    return async_on(nullptr, &options, std::forward<F>(f), where);
}

}  // namespace weft
