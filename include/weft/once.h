// once.h: runs a function exactly once, however many threads ask for it.
//
// call_once(flag, f) calls f unless a call through flag has succeeded. Concurrent callers wait for
// that call. If f throws, the exception leaves that call_once, and another caller tries. Like
// std::call_once, for green and plain threads.
//
// once_value(f) is a callable that calls f the first time, and returns its result by const
// reference each time. An exception is also stored and thrown each time. Like Go's sync.OnceValue,
// or sync.OnceFunc if f returns nothing.
//
// Afterwards each costs one load. Neither is a cancellation point, but f may contain some; a
// cancelled f counts as not called. Fatal: call_once by f with its own flag, and destroying a flag
// during a call.
//
// Invariants: I1. The queue is empty unless running is set.
// Ordering:   R1 (the end of a call) pairs with A1: the effects of f are visible after every
//             call_once that has returned.
// Threads:    any thread.
// See:        docs/once.md, test/model/once_model.cc
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>
#include <weft/detail/step.h>
#include <weft/detail/wait.h>
#include <weft/error.h>

namespace weft {

class once_flag {
public:
    constexpr once_flag() noexcept = default;
    once_flag(const once_flag&) = delete;
    once_flag& operator=(const once_flag&) = delete;

    ~once_flag() {
        if ((state_.word().load(detail::relaxed) & running) != 0) [[unlikely]]
            destroyed_in_use();  // relaxed: the destroying thread has synchronised with all users
    }

private:
    template <typename F, typename... Args>
    friend void call_once(once_flag& flag, F&& f, Args&&... args);

    // Ends the call that begin() has permitted, on every path.
    class call {
    public:
        explicit call(once_flag& flag) noexcept : flag_(flag) {}

        ~call() { flag_.end(succeeded); }

        call(const call&) = delete;
        call& operator=(const call&) = delete;

        bool succeeded = false;

    private:
        once_flag& flag_;
    };

    [[nodiscard]] bool is_done() noexcept {
        detail::step(detail::operation::once, this);
        return state_.word().load(detail::acquire) == done;  // A1
    }

    // Waits while another thread calls. True: the caller must make the call, and then end(). False:
    // done.
    [[nodiscard]] bool begin() noexcept;
    void end(bool succeeded) noexcept;
    void destroyed_in_use() noexcept;

    static constexpr uint32_t running = 2;
    static constexpr uint32_t done = 4;

    detail::guarded_word state_;
    // Guarded by state_.
    detail::wait_queue waiters_;
    detail::guarded<const void*> caller_ = nullptr;  // the caller, while running; see detail::owner
};

/// Any thread. Calls f(args...) (INVOKE of the standard) unless a call through flag has succeeded;
/// returns when one has. Throws what f throws.
template <typename F, typename... Args>
void call_once(once_flag& flag, F&& f, Args&&... args) {
    if (flag.is_done() || !flag.begin()) return;
    once_flag::call attempt(flag);
    std::apply(std::forward<F>(f), std::forward_as_tuple(std::forward<Args>(args)...));
    attempt.succeeded = true;
}

/// Calls an F once. Neither copyable nor movable, because it holds the value. Destroys f after the
/// call.
template <typename F>
class once_value {
    using returned = std::invoke_result_t<F&>;
    using stored = std::conditional_t<
        std::is_void_v<returned>,
        std::monostate,
        std::conditional_t<std::is_reference_v<returned>, std::remove_reference_t<returned>*, returned>>;

public:
    /// const T&; if f returns a reference or nothing, that type.
    using result_type =
        std::conditional_t<std::is_void_v<returned> || std::is_reference_v<returned>, returned, const stored&>;

    explicit once_value(F f) : f_(std::move(f)) {}

    once_value(const once_value&) = delete;
    once_value& operator=(const once_value&) = delete;
    ~once_value() = default;

    /// Any thread. Returns or throws what f did, calling it if necessary. Does not store
    /// weft::cancelled and weft::timed_out: they concern only this caller, and the next one calls f
    /// again.
    result_type operator()() const {
        call_once(flag_, [this] { compute(); });
        if (error_) std::rethrow_exception(error_);
        if constexpr (std::is_reference_v<returned>) {
            return static_cast<returned>(**value_);
        } else if constexpr (!std::is_void_v<returned>) {
            return *value_;
        }
    }

private:
    void compute() const {
        try {
            if constexpr (std::is_void_v<returned>) {
                (*f_)();
                value_.emplace();
            } else if constexpr (std::is_reference_v<returned>) {
                auto&& referred = (*f_)();
                value_.emplace(&referred);
            } else {
                value_.emplace((*f_)());
            }
        } catch (const cancelled&) {
            throw;
        } catch (const timed_out&) {
            throw;
        } catch (...) {
            error_ = std::current_exception();
        }
        f_.reset();
    }

    mutable once_flag flag_;
    // Written by the call, read after it.
    mutable std::optional<F> f_;
    mutable std::optional<stored> value_;
    mutable std::exception_ptr error_;
};

}  // namespace weft
