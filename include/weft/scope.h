// scope.h: green threads that end where they were started.
//
//     weft::scope([&](weft::task_scope& s) {
//         s.go([&] { left = sum(a); });
//         s.go([&] { right = sum(b); });
//     });                                  // here both have ended
//
// scope() returns when its function and all green threads started in it have ended: so they may use what lies around. The first
// exception that leaves one of them, or the function, cancels all others (cancel.h), and is thrown again when they have ended.
// Others that follow are counted, and given to the hook for unobserved exceptions (future.h): none is lost. Those that are a
// consequence, cancelled and timed_out, are not.
//
// The end of a scope is a join: it is not interrupted, but what runs in it is.
//
// Any thread. Scopes nest, in one green thread and across them.
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
#include <weft/detail/require.h>
#include <weft/detail/source_location.h>
#include <weft/future.h>
#include <weft/go.h>

namespace weft {

// What a scope's function gets. Lives as long as the scope; not copyable. May be used by everything that runs in the scope.
class task_scope {
public:
    task_scope(const task_scope&) = delete;
    task_scope& operator=(const task_scope&) = delete;

    // Starts f as a green thread of this scope. Throws what weft::go throws, having started nothing.
    template <typename F>
    void go(F&& f, source_location where = source_location::current()) {
        spawn(nullptr, std::forward<F>(f), where);
    }

    template <typename F>
    void go(const spawn_options& options, F&& f, source_location where = source_location::current()) {
        spawn(&options, std::forward<F>(f), where);
    }

    // Starts f as a green thread of this scope, with a future for what it returns or throws. An exception of f is the future's affair:
    // it does not cancel the others.
    template <typename F>
    [[nodiscard]] auto async(F&& f, source_location where = source_location::current()) {
        using result = std::invoke_result_t<std::decay_t<F>&>;
        auto state = std::make_shared<detail::future_state<result>>(&context_);
        running_.increment();
        try {
            detail::spawn(
                nullptr, nullptr,
                [this, state, body = std::optional<std::decay_t<F>>(std::forward<F>(f))]() mutable {
                    state->fulfil(*body);
                    body.reset();
                    state->complete();
                    state.reset();
                    running_.decrement();
                },
                where);
        } catch (...) {
            running_.decrement();
            throw;
        }
        return detail::future_access::make<result>(std::move(state));
    }

    // Cancels everything that runs in this scope, its function included. The scope then ends as if all had returned. Any thread.
    void cancel() noexcept;

    // Whether it was cancelled, by cancel(), by an exception, or from around; or a deadline around it has passed.
    [[nodiscard]] bool cancelled() noexcept {
        return context_.requested() ||
               (context_.deadline_ns() != detail::never && context_.deadline_ns() <= detail::now_ns());
    }

    // How many exceptions there have been besides the one that will be thrown.
    [[nodiscard]] std::size_t further_exceptions() noexcept;

private:
    template <typename F>
    friend decltype(auto) scope(F&& f);

    task_scope() noexcept : context_(detail::enclosing_context(), detail::never) {}

    ~task_scope() = default;

    template <typename F>
    void spawn(const spawn_options* options, F&& f, source_location where) {
        running_.increment();
        try {
            detail::spawn(
                nullptr, options,
                [this, body = std::optional<std::decay_t<F>>(std::forward<F>(f))]() mutable {
                    {
                        detail::cancel_context mine(&context_, detail::never);
                        const detail::ambient_scope ambient(&mine);
                        try {
                            (*body)();
                        } catch (...) {
                            keep(std::current_exception());
                        }
                        body.reset();
                    }
                    running_.decrement();
                },
                where);
        } catch (...) {
            running_.decrement();
            throw;
        }
    }

    // An exception has left a part of the scope.
    void keep(const std::exception_ptr& e) noexcept;

    // Waits for all.
    void join() noexcept { running_.wait(detail::wait_reason::scope_join); }

    void rethrow_first() {
        if (first_) [[unlikely]]
            std::rethrow_exception(std::exchange(first_, nullptr));
    }

    detail::cancel_context context_;
    detail::count_word running_;
    detail::spin_lock failed_lock_;
    // Guarded by failed_lock_.
    std::exception_ptr first_;
    std::size_t further_ = 0;
    bool ends_early_ = false;  // by cancel() or an exception: what is interrupted is so because of us
};

// Calls f(task_scope&) and waits for all it has started. Returns what f returns. Throws the first exception of f and of the green
// threads started in the scope; after task_scope::cancel() the exception cancelled is none, unless f had to return something.
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
