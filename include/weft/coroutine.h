// coroutine.h: C++20 coroutines on weft's scheduler, for code that already uses them, or for ten
// million waits in little memory.
//
//     weft::task<int> sum(weft::chan<int> numbers) {
//         int total = 0;
//         while (std::optional<int> n = co_await weft::co::recv(numbers)) total += *n;
//         co_return total;
//     }
//
//     weft::future<int> f = weft::async(sum(numbers));      // runs on the scheduler; f.get(), or co_await std::move(f)
//
// Where a green thread would park, a coroutine is suspended and its stack is reused. When its wait
// ends, a green thread made beforehand starts and resumes it. So a coroutine may use everything
// else in weft, including blocking calls: they park the green thread that currently runs it.
//
// A task begins when it is awaited or passed to async(). Awaiting is not a cancellation point.
// Coroutines of other libraries may await weft's awaitables; they are resumed on a green thread.
//
// See: docs/coroutines.md
#pragma once

// clang-format off: before <coroutine>, which has an error of its own for C++17
#include <weft/detail/require.h>
// clang-format on

#include <chrono>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <weft/chan.h>
#include <weft/detail/continuation.h>
#include <weft/detail/select_case.h>
#include <weft/detail/source_location.h>
#include <weft/future.h>
#include <weft/go.h>

namespace weft {

namespace detail {

// The function of a green thread that resumes a coroutine. If it never runs because its runtime
// ends, it destroys the coroutine.
class resumption {
public:
    // root: the outermost coroutine of the await chain; owns the others.
    resumption(std::coroutine_handle<> inner, std::coroutine_handle<> root) noexcept : inner_(inner), root_(root) {}

    resumption(resumption&& other) noexcept : inner_(other.inner_), root_(std::exchange(other.root_, nullptr)) {}

    resumption(const resumption&) = delete;
    resumption& operator=(const resumption&) = delete;

    ~resumption() {
        if (root_ != nullptr) root_.destroy();
    }

    void operator()() {
        root_ = nullptr;
        inner_.resume();
    }

    // Releases the coroutine, which continues in another way.
    void let_go() noexcept { root_ = nullptr; }

    template <typename Promise>
    static resumption of(std::coroutine_handle<Promise> h) noexcept {
        if constexpr (requires { h.promise().root; }) {
            return {h, h.promise().root};
        } else {
            return {h, h};
        }
    }

private:
    std::coroutine_handle<> inner_;
    std::coroutine_handle<> root_;
};

// Waits on one case of a channel. Case is chan_recv_case<T> or chan_send_case<T>.
template <typename T, typename Case, typename Slot>
class chan_awaiter {
public:
    chan_awaiter(chan_state<T>* s, Slot slot, wait_reason reason) noexcept
        : state_(s), slot_(std::move(slot)), reason_(reason) {
        case_.partner = nullptr;
    }

    // Each releases the channel's lock by case_.ops, or by parking; the analysis cannot follow.
    [[nodiscard]] bool await_ready() noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
        Case::prepare(case_, state_, slot_);
        if (state_ == nullptr || !case_.ops->seems_ready(case_)) return false;
        const hold_if<false> held;
        const uint32_t bits = case_.lock->lock_bits();
        if (case_.ops->begin(case_, bits)) {
            finish(bits);
            return true;
        }
        case_.lock->unlock_bits(bits);
        return false;
    }

    // False: it has happened already. After true the coroutine may run elsewhere.
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> h,
                       source_location where = source_location::current()) WEFT_NO_THREAD_SAFETY_ANALYSIS {
        struct waited {
            resumption r;

            void operator()() {
                wait_is_over();
                r();
            }
        };

        const spawning made = spawn_begin(nullptr, nullptr, entry_type_of<waited>, where);
        if (state_ == nullptr) {
            // A nil channel: the coroutine is never resumed.
            ::new (made.closure) waited{resumption::of(h)};
            nobody_.lock();
            spawn_waiting(made.g, case_.w, nobody_waiters_, nobody_, 0, reason_);
            return true;
        }
        const hold_if<false> held;
        const uint32_t bits = case_.lock->lock_bits();
        if (case_.ops->begin(case_, bits)) {
            finish(bits);
            spawn_abandon(made.g);
            return false;
        }
        ::new (made.closure) waited{resumption::of(h)};
        spawn_waiting(made.g, case_.w, *case_.queue, *case_.lock, bits, reason_);
        return true;
    }

protected:
    [[nodiscard]] bool ok() const noexcept { return case_.w.ok; }

    Slot& slot() noexcept { return slot_; }

private:
    // After the operation: releases the lock and completes the hand-off.
    void finish(uint32_t bits) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
        case_.lock->unlock_bits(bits);
        if (case_.partner != nullptr) case_.ops->finish(case_);
    }

    chan_state<T>* state_;
    Slot slot_;
    wait_reason reason_;
    select_case case_;
    spin_lock nobody_;
    wait_queue nobody_waiters_;
};

}  // namespace detail

template <typename T>
class task;

namespace detail {

struct task_promise_base {
    std::coroutine_handle<> root;          // the outermost of the await chain
    std::coroutine_handle<> continuation;  // the coroutine that awaits this one

    std::suspend_always initial_suspend() noexcept { return {}; }

    struct to_continuation {
        bool await_ready() noexcept { return false; }

        template <typename Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> h) noexcept {
            return h.promise().continuation;
        }

        void await_resume() noexcept {}
    };

    to_continuation final_suspend() noexcept { return {}; }
};

template <typename T>
struct task_promise : task_promise_base {
    std::variant<std::monostate, T, std::exception_ptr> result;

    task<T> get_return_object() noexcept;

    template <typename U>
    void return_value(U&& value) {
        result.template emplace<1>(std::forward<U>(value));
    }

    void unhandled_exception() noexcept { result.template emplace<2>(std::current_exception()); }

    T take() {
        if (result.index() == 2) std::rethrow_exception(std::get<2>(result));
        return std::move(std::get<1>(result));
    }
};

template <>
struct task_promise<void> : task_promise_base {
    std::exception_ptr error;

    task<void> get_return_object() noexcept;

    void return_void() noexcept {}

    void unhandled_exception() noexcept { error = std::current_exception(); }

    void take() const {
        if (error) std::rethrow_exception(error);
    }
};

}  // namespace detail

/// A coroutine that yields a T. Begins when awaited, once; the awaiting coroutine continues when it
/// has ended. Move-only; its destructor destroys the coroutine.
template <typename T = void>
class [[nodiscard]] task {
public:
    using promise_type = detail::task_promise<T>;

    explicit task(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}

    task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

    task& operator=(task&& other) noexcept {
        // Drops the old handle last, so self-assignment changes nothing.
        task taken(std::move(other));
        std::swap(handle_, taken.handle_);
        return *this;
    }

    task(const task&) = delete;
    task& operator=(const task&) = delete;

    ~task() {
        if (handle_ != nullptr) handle_.destroy();
    }

    class awaiter {
    public:
        explicit awaiter(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}

        bool await_ready() noexcept { return false; }

        template <typename Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> outer) noexcept {
            if constexpr (requires { outer.promise().root; }) {
                handle_.promise().root = outer.promise().root;
            } else {
                handle_.promise().root = outer;
            }
            handle_.promise().continuation = outer;
            return handle_;
        }

        T await_resume() { return handle_.promise().take(); }

    private:
        std::coroutine_handle<promise_type> handle_;
    };

    awaiter operator co_await() && noexcept { return awaiter(handle_); }

private:
    std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <typename T>
task<T> task_promise<T>::get_return_object() noexcept {
    return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}

inline task<void> task_promise<void>::get_return_object() noexcept {
    return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

// The outermost coroutine: no other awaits it, and it destroys itself.
struct driver {
    struct promise_type {
        std::coroutine_handle<> root = std::coroutine_handle<promise_type>::from_promise(*this);

        driver get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }

        std::suspend_always initial_suspend() noexcept { return {}; }

        std::suspend_never final_suspend() noexcept { return {}; }

        void return_void() noexcept {}

        [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
    };

    std::coroutine_handle<promise_type> handle;
};

template <typename T>
driver drive(task<T> whole, std::shared_ptr<future_state<T>> to) {
    {
        task<T> body = std::move(whole);
        try {
            if constexpr (std::is_void_v<T>) {
                co_await std::move(body);
                to->store();
            } else {
                to->store(co_await std::move(body));
            }
        } catch (...) {
            to->store_error(std::current_exception());
        }
    }
    to->complete();
}

}  // namespace detail

/// Runs t on the scheduler; returns a future for its result. Throws as go().
template <typename T>
[[nodiscard]] future<T> async(task<T> t, source_location where = source_location::current()) {
    auto state = std::make_shared<detail::future_state<T>>();
    const detail::driver d = detail::drive(std::move(t), state);
    detail::spawn(nullptr, nullptr, detail::resumption(d.handle, d.handle), where);
    return detail::future_access::make<T>(std::move(state));
}

/// co_await std::move(f): returns or throws what f.get() does, without blocking.
template <typename T>
class future_awaiter {
public:
    explicit future_awaiter(future<T> f) : future_(std::move(f)) {}

    bool await_ready() const { return future_.is_ready(); }

    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> h) {
        // The state outlives this awaiter, which may be gone once the green thread has begun.
        auto& state = detail::future_access::state(future_);
        auto go_on = detail::resumption::of(h);
        try {
            detail::go_when_zero(state.pending(), std::move(go_on), source_location::current());
        } catch (...) {
            // The coroutine continues with the exception, which is thrown at its co_await.
            go_on.let_go();
            throw;
        }
    }

    T await_resume() { return future_.get(); }

private:
    future<T> future_;
};

template <typename T>
future_awaiter<T> operator co_await(future<T>&& f) {
    return future_awaiter<T>(std::move(f));
}

namespace co {

/// co_await recv(c): the oldest value, or nullopt once the channel is closed and drained. c must
/// outlive the wait.
template <typename T>
class recv_awaiter : public detail::chan_awaiter<T, detail::chan_recv_case<T>, std::optional<T>> {
public:
    explicit recv_awaiter(detail::chan_state<T>* s) noexcept
        : detail::chan_awaiter<T, detail::chan_recv_case<T>, std::optional<T>>(
              s,
              std::nullopt,
              s == nullptr ? detail::wait_reason::chan_receive_nil : detail::wait_reason::chan_receive) {}

    std::optional<T> await_resume() noexcept { return std::move(this->slot()); }
};

template <typename T>
[[nodiscard]] recv_awaiter<T> recv(const chan<T>& c) noexcept {
    return recv_awaiter<T>(detail::chan_access::state(c));
}

template <typename T>
[[nodiscard]] recv_awaiter<T> recv(const recv_chan<T>& c) noexcept {
    return recv_awaiter<T>(detail::chan_access::state(c));
}

/// co_await send(c, value): sends, or throws channel_closed. c must outlive the wait.
template <typename T>
class send_awaiter : public detail::chan_awaiter<T, detail::chan_send_case<T>, T> {
public:
    send_awaiter(detail::chan_state<T>* s, T value) noexcept
        : detail::chan_awaiter<T, detail::chan_send_case<T>, T>(
              s, std::move(value), s == nullptr ? detail::wait_reason::chan_send_nil : detail::wait_reason::chan_send) {
    }

    void await_resume() const {
        if (!this->ok()) throw channel_closed();
    }
};

template <typename T>
[[nodiscard]] send_awaiter<T> send(const chan<T>& c, std::type_identity_t<T> value) noexcept {
    return send_awaiter<T>(detail::chan_access::state(c), std::move(value));
}

template <typename T>
[[nodiscard]] send_awaiter<T> send(const send_chan<T>& c, std::type_identity_t<T> value) noexcept {
    return send_awaiter<T>(detail::chan_access::state(c), std::move(value));
}

}  // namespace co

}  // namespace weft
