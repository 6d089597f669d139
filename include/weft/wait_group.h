// wait_group.h: waits for a number of tasks to finish, like Go's sync.WaitGroup.
//
// Call add() before a task starts, done() when it is finished, and wait() to block until the count
// is zero. The member go(f) starts f as a green thread and calls add() and done() for it. The first
// exception that leaves such an f is rethrown by wait().
//
// The group may be destroyed as soon as every wait, with a time limit or without, has returned.
// Count, waiting bit and the lock of the waiters' queue share one word; done() accesses nothing
// after the store that sets it to zero.
//
// Any thread may call every member. Fatal: a negative count, and destroying a group before its
// count is zero. wait() is a join, not a cancellation point; wait_for() and wait_until() are. In a
// plain thread go() uses the default runtime.
//
// See: docs/wait_group.md, test/model/wait_group_model.cc
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/detail/count_word.h>
#include <weft/detail/locals.h>
#include <weft/detail/require.h>
#include <weft/detail/source_location.h>
#include <weft/detail/time_point.h>
#include <weft/go.h>

namespace weft {

class wait_group {
public:
    wait_group() = default;
    wait_group(const wait_group&) = delete;
    wait_group& operator=(const wait_group&) = delete;

    ~wait_group() { count_.check_destroyed(); }

    /// Adds n tasks; a negative n removes them. Fatal if the count would become negative or exceed
    /// 2^30 - 1.
    void add(int n = 1) noexcept { count_.add(n); }

    /// Marks one task as finished. The group may be gone when this returns.
    void done() noexcept { count_.decrement(); }

    /// Blocks until the count is zero, then rethrows the first exception of a function started by
    /// go(), if any.
    void wait() {
        count_.wait(detail::wait_reason::wait_group_wait);
        if (failed_lock_.word().load(detail::acquire) != 0) [[unlikely]]
            rethrow_first();  // pairs with keep()
    }

    /// As wait(), but returns false if timeout passes first; the tasks then go on. A cancellation
    /// point: throws weft::cancelled or weft::timed_out. Does not wait if timeout is zero or less.
    template <typename Rep, typename Period>
    [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> timeout) {
        return wait_until_ns(timeout > timeout.zero() ? detail::deadline_after(timeout) : 0);
    }

    /// The same with a deadline.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool wait_until(std::chrono::time_point<Clock, Duration> when) {
        return wait_until_ns(detail::deadline_at(when));
    }

    /// Starts f as a green thread that counts as one task. Throws as weft::go, with the count
    /// unchanged.
    template <typename F>
    void go(F&& f, source_location where = source_location::current()) {
        spawn(nullptr, std::forward<F>(f), where);
    }

    template <typename F>
    void go(const spawn_options& options, F&& f, source_location where = source_location::current()) {
        spawn(&options, std::forward<F>(f), where);
    }

private:
    bool wait_until_ns(int64_t deadline_ns) {
        using detail::wait_result;
        const wait_result result = count_.wait_cancellable(detail::wait_reason::wait_group_wait, deadline_ns);
        if (result == wait_result::timed_out) return false;
        if (result != wait_result::served) detail::throw_interrupted(result);
        if (failed_lock_.word().load(detail::acquire) != 0) [[unlikely]]
            rethrow_first();  // pairs with keep()
        return true;
    }

    template <typename F>
    void spawn(const spawn_options* options, F&& f, source_location where) {
        count_.increment();
        try {
            detail::spawn(
                nullptr, options,
                [this, body = std::optional<std::decay_t<F>>(std::forward<F>(f))]() mutable {
                    try {
                        (*body)();
                    } catch (...) {
                        keep(std::current_exception());
                    }
                    // Destroys what f owns before the waiter resumes, like the locals of a joined
                    // thread.
                    body.reset();
                    detail::end_locals();
                    done();
                },
                where);
        } catch (...) {
            count_.decrement();
            throw;
        }
    }

    [[gnu::noinline]] void rethrow_first() {
        std::exception_ptr first;
        {
            const detail::hold_if<false> held;
            failed_lock_.lock_bits();
            first = std::exchange(failed_, nullptr);
            failed_lock_.unlock_bits(0);
        }
        if (first) std::rethrow_exception(first);
    }

    void keep(std::exception_ptr e) noexcept {
        const detail::hold_if<false> held;
        failed_lock_.lock_bits();
        if (!failed_) failed_ = std::move(e);
        failed_lock_.unlock_bits(has_failed);
    }

    detail::count_word count_;
    static constexpr uint32_t has_failed = 2;

    detail::guarded_word failed_lock_;  // object bit has_failed: failed_ is set
    std::exception_ptr failed_;         // guarded by failed_lock_
};

}  // namespace weft
