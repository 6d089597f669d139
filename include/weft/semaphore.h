// semaphore.h: a number of units that are taken and given back; who finds none waits.
//
// Names and meaning are those of the standard's semaphores. acquire and release are one compare-exchange each while nobody
// waits. The units go to the waiters in the order in which they came, and are handed over: release() gives a unit to the oldest
// waiter itself, so no newcomer can take it first, however often it tries, and nobody waits for longer than those before it. The
// price is that a contended semaphore changes hands at each release; where that matters more than the order, use a mutex.
//
// Count, lock and "somebody waits" share one word, and release() touches nothing after the store that lets an acquire() return:
// the semaphore may be destroyed as soon as the last acquire() has returned, so it can tell the end of something. Destroying it
// while somebody waits, and more units than max(), are fatal errors.
//
// acquire() and the timed forms are cancellation points where they have to wait; what cannot be cancelled any more is served.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty (a waiter whose time was up may leave it set).
//             I2. While the count is above zero, the queue holds only waiters that something else has claimed.
// Ordering:   R1 (a release, or the store after a hand-over) pairs with A1 (an acquire): what was done before release() is visible
//             after acquire().
// Who:        any thread.
// See:        docs/semaphore.md, test/model/semaphore_model.cc
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/time_point.h>
#include <weft/detail/wait.h>

namespace weft {

namespace detail {

// A semaphore was to begin with count units, which are too few or too many.
[[noreturn]] void fatal_semaphore_count(int64_t count, int64_t max) noexcept;

// The semaphore of any max().
class semaphore_core {
public:
    static constexpr uint32_t max_count = (1U << 30) - 1;

    WEFT_CONSTEXPR explicit semaphore_core(uint32_t count) noexcept : state_(count << shift) {}

    semaphore_core(const semaphore_core&) = delete;
    semaphore_core& operator=(const semaphore_core&) = delete;

    ~semaphore_core() {
        // relaxed: whoever destroys it has synchronised with its users
        if ((state_.word().load(relaxed) & (waiting | guarded_word::guard)) != 0) check_destroyed();
    }

    // Takes a unit if there is one.
    [[nodiscard]] bool try_acquire() noexcept {
        uint32_t seen = state_.word().load(relaxed);  // relaxed: the exchange decides
        while (seen >= one) {
            if ((seen & guarded_word::guard) != 0) return try_acquire_guarded();
            if (state_.word().compare_exchange_weak(seen, seen - one, acquire, relaxed)) return true;  // A1
        }
        return false;
    }

    // Takes a unit, waiting for one until deadline_ns. False: the time was up. Throws if the caller is cancelled.
    bool acquire_slow(int64_t deadline_ns);

    // Adds n units.
    void release_units(int64_t n, int64_t max) noexcept {
        uint32_t seen = state_.word().load(relaxed);  // relaxed: the exchange decides
        const bool plain = (seen & (guarded_word::guard | waiting)) == 0 && n >= 0 && n <= max - int64_t{seen >> shift};
        const uint32_t more = seen + one * static_cast<uint32_t>(n);
        // R1
        if (!plain || !state_.word().compare_exchange_strong(seen, more, release, relaxed)) release_slow(n, max);
    }

private:
    static constexpr uint32_t waiting = 2;
    static constexpr uint32_t shift = 2;
    static constexpr uint32_t one = 1U << shift;

    [[nodiscard]] bool try_acquire_guarded() noexcept;
    void release_slow(int64_t n, int64_t max) noexcept;
    void check_destroyed() noexcept;

    guarded_word state_;
    wait_queue waiters_;  // guarded by state_
};

}  // namespace detail

template <std::ptrdiff_t LeastMaxValue = detail::semaphore_core::max_count>
class counting_semaphore {
    static_assert(LeastMaxValue >= 0 && LeastMaxValue <= detail::semaphore_core::max_count,
                  "a weft::counting_semaphore counts to 2^30 - 1");

public:
    // The largest count: exactly LeastMaxValue.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept { return LeastMaxValue; }

    // Begins with desired units. Fatal if that is negative or above max().
    constexpr explicit counting_semaphore(std::ptrdiff_t desired) noexcept : core_(checked(desired)) {}

    // Takes a unit; waits for one if there is none. A cancellation point while it waits: throws weft::cancelled or
    // weft::timed_out, and has taken nothing then.
    void acquire() {
        if (!core_.try_acquire()) core_.acquire_slow(detail::never);
    }

    // Takes a unit if there is one. Never waits, and never fails without reason.
    [[nodiscard]] bool try_acquire() noexcept { return core_.try_acquire(); }

    // As acquire(), but returns false if timeout passes first. With a timeout of zero or less it does not wait.
    template <typename Rep, typename Period>
    [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> timeout) {
        if (core_.try_acquire()) return true;
        return timeout > timeout.zero() && core_.acquire_slow(detail::deadline_after(timeout));
    }

    // The same for a point in time. If when has passed it does not wait for long.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool try_acquire_until(std::chrono::time_point<Clock, Duration> when) {
        return core_.try_acquire() || core_.acquire_slow(detail::deadline_at(when));
    }

    // Gives update units: to those who wait, the oldest first, and what is left to whoever comes. Fatal if update is negative, or
    // if there would be more than max(). The semaphore may be gone when this returns.
    void release(std::ptrdiff_t update = 1) noexcept { core_.release_units(update, LeastMaxValue); }

private:
    static constexpr uint32_t checked(std::ptrdiff_t desired) noexcept {
        if (desired < 0 || desired > LeastMaxValue) detail::fatal_semaphore_count(desired, LeastMaxValue);
        return static_cast<uint32_t>(desired);
    }

    detail::semaphore_core core_;
};

using binary_semaphore = counting_semaphore<1>;

}  // namespace weft
