// latch.h: a count that falls to zero once, and then releases its waiters for good.
//
// Names and semantics are those of the standard. count_down is one compare-exchange, except for the
// one that wakes. wait() is a join, not a cancellation point; wait_for and wait_until, which the
// standard lacks, are cancellation points.
//
// The latch may be destroyed as soon as every wait has returned. Count, lock and waiting bit share
// one word, and count_down accesses nothing after the store of zero. Fatal: counting below zero,
// and destroying a latch with waiters.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty (a waiter that timed out may
//                 leave it set).
//             I2. After the store of 0 the latch is not accessed.
// Ordering:   R1 (a count_down, or the store of 0) pairs with A1 (a read of zero): what happened
//             before count_down() is visible after wait().
// Threads:    any thread.
// See:        docs/latch_barrier_event.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/step.h>
#include <weft/detail/time_point.h>
#include <weft/detail/wait.h>

namespace weft {

namespace detail {

// Reports a latch constructed with a count that it cannot hold.
[[noreturn]] void fatal_latch_count(int64_t expected) noexcept;

}  // namespace detail

class latch {
public:
    /// The largest count.
    [[nodiscard]] static constexpr std::ptrdiff_t(max)() noexcept { return (1 << 30) - 1; }

    /// Fatal if expected is negative or above max().
    WEFT_CONSTEXPR explicit latch(std::ptrdiff_t expected) noexcept : state_(checked(expected) << shift) {}

    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;

    ~latch() {
        if ((state_.word().load(detail::relaxed_alone) & (waiting | detail::guarded_word::guard)) != 0)
            check_destroyed();
    }

    /// Subtracts n from the count. Fatal if n is negative or above the count. The latch may be gone
    /// when this returns.
    void count_down(std::ptrdiff_t n = 1) noexcept {
        detail::step(detail::operation::latch, this);
        uint32_t seen = state_.word().load(detail::relaxed_cas);
        const bool plain = (seen & (waiting | detail::guarded_word::guard)) == 0 && n >= 0 && n <= seen >> shift;
        // R1
        if (!plain || !state_.word().compare_exchange_strong(seen, seen - (static_cast<uint32_t>(n) << shift),
                                                             detail::release, detail::relaxed)) {
            count_down_slow(n);
        }
    }

    /// Returns whether the count is zero.
    [[nodiscard]] bool try_wait() const noexcept {
        detail::step(detail::operation::latch, this);
        return state_.word().load(detail::acquire) >> shift == 0;  // A1
    }

    /// Blocks until the count is zero.
    void wait() const noexcept {
        if (!try_wait()) wait_slow();
    }

    /// As wait(), but returns false on timeout. A cancellation point: throws weft::cancelled or
    /// weft::timed_out.
    template <typename Rep, typename Period>
    [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> timeout) const {
        return try_wait() || wait_until_ns(detail::deadline_after(timeout));
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] bool wait_until(std::chrono::time_point<Clock, Duration> when) const {
        return try_wait() || wait_until_ns(detail::deadline_at(when));
    }

    /// count_down(n), then wait().
    void arrive_and_wait(std::ptrdiff_t n = 1) noexcept;

private:
    static constexpr uint32_t waiting = 2;
    static constexpr uint32_t shift = 2;

    static constexpr uint32_t checked(std::ptrdiff_t expected) noexcept {
        if (expected < 0 || expected > (max)()) detail::fatal_latch_count(expected);
        return static_cast<uint32_t>(expected);
    }

    // Takes the lock and subtracts n from the count; the word still has the old count. Returns the
    // word's new bits.
    [[nodiscard]] uint32_t lock_and_take(std::ptrdiff_t n) noexcept WEFT_ACQUIRE(state_);
    void release_waiters() noexcept WEFT_RELEASE(state_);
    void count_down_slow(std::ptrdiff_t n) noexcept;
    void wait_slow() const noexcept;
    bool wait_until_ns(int64_t deadline_ns) const;
    void check_destroyed() noexcept;

    mutable detail::guarded_word state_;
    mutable detail::wait_queue waiters_;  // guarded by state_
};

}  // namespace weft
