// scope.h: green threads that end in the block that started them.
//
//     weft::scope([&](weft::task_scope& s) {
//         s.go([&] { left = sum(a); });
//         s.go([&] { right = sum(b); });
//     });                                  // here both have ended
//
// scope() returns when its function and all green threads started in it have ended, so these may
// use objects around it. The first exception that leaves one of them, or the function, cancels all
// others (cancel.h), and is rethrown when they have ended. Further exceptions are counted and given
// to the hook for unobserved exceptions (future.h), except cancelled and timed_out that result from
// the cancellation.
//
// The end of a scope is a join: it is not interrupted, but the code in the scope is.
//
// Any thread. Scopes nest, in one green thread and across green threads.
//
// See: docs/cancellation.md
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <weft/cancel.h>
#include <weft/detail/count_word.h>
#include <weft/detail/locals.h>
#include <weft/detail/require.h>
#include <weft/detail/source_location.h>
#include <weft/future.h>
#include <weft/go.h>
#include <weft/semaphore.h>

namespace weft {

/// The argument of a scope's function, for all code in the scope. Lives as long as the scope; not
/// copyable.
class task_scope {
public:
    task_scope(const task_scope&) = delete;
    task_scope& operator=(const task_scope&) = delete;

    /// Starts f as a green thread of this scope. Throws as weft::go, with nothing started.
    template <typename F>
    void go(F&& f, source_location where = source_location::current()) {
        spawn(nullptr, std::forward<F>(f), where);
    }

    template <typename F>
    void go(const spawn_options& options, F&& f, source_location where = source_location::current()) {
        spawn(&options, std::forward<F>(f), where);
    }

    /// Starts f as a green thread of this scope, with a future for its result or exception. An
    /// exception of f goes only to the future; it does not cancel the others.
    template <typename F>
    [[nodiscard]] auto async(F&& f, source_location where = source_location::current()) {
        return spawn_async(nullptr, std::forward<F>(f), where);
    }

    template <typename F>
    [[nodiscard]] auto async(const spawn_options& options, F&& f, source_location where = source_location::current()) {
        return spawn_async(&options, std::forward<F>(f), where);
    }

    /// At most n of the green threads started by later calls of go() and async() run at a time:
    /// these wait until one of them has ended. The wait is a cancellation point; nothing is started
    /// then. Throws std::invalid_argument if n is not positive, std::logic_error if there is a
    /// limit already, std::bad_alloc. Call it before other threads use the scope. A green thread
    /// under the limit that starts another one may wait for ever for itself.
    void limit(std::ptrdiff_t n);

    /// Cancels everything in this scope, including its function. The scope then ends as if all had
    /// returned. Any thread.
    void cancel() noexcept;

    /// Whether the scope is cancelled, by cancel(), an exception or from outside, or a deadline
    /// around it has passed.
    [[nodiscard]] bool cancelled() noexcept {
        return context_.requested() ||
               (context_.deadline_ns() != detail::never && context_.deadline_ns() <= detail::now_ns());
    }

    /// Number of exceptions besides the one that will be thrown.
    [[nodiscard]] std::size_t further_exceptions() noexcept;

private:
    template <typename F>
    friend decltype(auto) scope(F&& f);
    friend class task_group;

    task_scope() noexcept : context_(detail::enclosing_context(), detail::never) {}

    ~task_scope() = default;

    // While a green thread is started: counts it as running, and waits for its place if there is a
    // limit. Counts first, because the scope must not end while a thread waits for a place.
    class start {
    public:
        explicit start(task_scope& s) : scope_(&s), limited_(s.places_.has_value()) {
            s.running_.increment();
            if (!limited_) return;
            try {
                s.places_->acquire();
            } catch (...) {
                s.running_.decrement();
                throw;
            }
        }

        start(const start&) = delete;
        start& operator=(const start&) = delete;

        ~start() {
            if (scope_ != nullptr) scope_->ended(limited_);
        }

        // For ended(). A green thread that was started before the limit was set has no place.
        [[nodiscard]] bool limited() const noexcept { return limited_; }

        // The green thread will call ended().
        void done() noexcept { scope_ = nullptr; }

    private:
        task_scope* scope_;
        bool limited_;
    };

    // A green thread has ended. The scope may be gone when this returns.
    void ended(bool limited) noexcept {
        if (limited) places_->release();  // NOLINT(bugprone-unchecked-optional-access): it was set then
        running_.decrement();
    }

    template <typename F>
    void spawn(const spawn_options* options, F&& f, source_location where) {
        start counted(*this);
        detail::spawn(
            nullptr, options,
            [this, limited = counted.limited(), body = std::optional<std::decay_t<F>>(std::forward<F>(f))]() mutable {
                {
                    detail::cancel_context mine(&context_, detail::never);
                    const detail::ambient_scope ambient(&mine);
                    try {
                        (*body)();
                    } catch (...) {
                        keep(std::current_exception());
                    }
                    body.reset();
                    detail::end_locals();
                }
                ended(limited);
            },
            where);
        counted.done();
    }

    template <typename F>
    auto spawn_async(const spawn_options* options, F&& f, source_location where) {
        using result = std::invoke_result_t<std::decay_t<F>&>;
        auto state = std::make_shared<detail::future_state<result>>(&context_);
        start counted(*this);
        detail::spawn(
            nullptr, options,
            [this, limited = counted.limited(), state,
             body = std::optional<std::decay_t<F>>(std::forward<F>(f))]() mutable {
                state->fulfil(*body);
                body.reset();
                detail::end_locals();
                state->complete();
                state.reset();
                ended(limited);
            },
            where);
        counted.done();
        return detail::future_access::make<result>(std::move(state));
    }

    // Records an exception that has left a part of the scope.
    void keep(const std::exception_ptr& e) noexcept;

    // Waits for all green threads.
    void join() noexcept { running_.wait(detail::wait_reason::scope_join); }

    void rethrow_first() {
        if (first_) [[unlikely]]
            std::rethrow_exception(std::exchange(first_, nullptr));
    }

    detail::cancel_context context_;
    detail::count_word running_;
    std::optional<counting_semaphore<>> places_;  // under the limit, if there is one
    detail::spin_lock failed_lock_;
    // Guarded by failed_lock_.
    std::exception_ptr first_;
    std::size_t further_ = 0;
    bool ends_early_ = false;  // by cancel() or an exception: this scope causes the interruptions
};

/// Calls f(task_scope&) and waits for all green threads it has started. Returns what f returns.
/// Throws the first exception of f and of those green threads. After task_scope::cancel() cancelled
/// is not thrown, unless f must return a value.
template <typename F>
decltype(auto) scope(F&& f) {
    using result = std::invoke_result_t<F&, task_scope&>;
    task_scope s;
    const auto body = [&]() -> decltype(auto) {
        const detail::ambient_scope ambient(&s.context_);
        return f(s);
    };
    if constexpr (std::is_void_v<result>) {
        try {
            body();
        } catch (...) {
            s.keep(std::current_exception());
        }
        s.join();
        s.rethrow_first();
    } else {
        std::optional<std::conditional_t<std::is_reference_v<result>, std::add_pointer_t<result>, result>> value;
        try {
            if constexpr (std::is_reference_v<result>) {
                value.emplace(&body());
            } else {
                value.emplace(body());
            }
        } catch (...) {
            s.keep(std::current_exception());
        }
        s.join();
        s.rethrow_first();
        if (!value.has_value()) throw weft::cancelled();
        if constexpr (std::is_reference_v<result>) {
            return static_cast<result>(**value);
        } else {
            return result(std::move(*value));
        }
    }
}

}  // namespace weft
