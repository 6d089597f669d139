// semaphore.h: a number of units to take and give back; a thread that finds none waits.
//
// Names and semantics are those of the standard. Without waiters, acquire and release are one
// compare-exchange each. Waiters get units in order of arrival: release() hands a unit to the
// oldest waiter, so no newcomer can take it first. The price is a hand-off at each release of a
// contended semaphore; if that matters more than order, use a mutex.
//
// release() accesses nothing after the store that lets an acquire() return. So the semaphore may be
// destroyed when the last acquire() has returned, and can signal the end of a task. What happened
// before release() is visible after the acquire() that took the unit. Fatal: destroying a semaphore
// with waiters, and more than max() units.
//
// acquire() and the timed forms are cancellation points where they wait. If the cancellation comes
// too late, they succeed.
//
// Threads: any thread.
// See: docs/semaphore.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <weft/detail/require.h>
#include <weft/detail/semaphore_core.h>
#include <weft/detail/time_point.h>
#include <weft/detail/wait.h>

namespace weft {

template <std::ptrdiff_t LeastMaxValue = detail::semaphore_core::max_count>
class counting_semaphore {
    static_assert(LeastMaxValue >= 0 && LeastMaxValue <= detail::semaphore_core::max_count,
                  "weft::counting_semaphore: LeastMaxValue must be from 0 to 2^30 - 1");

public:
    /// The largest count: exactly LeastMaxValue.
    [[nodiscard]] static constexpr std::ptrdiff_t(max)() noexcept { return LeastMaxValue; }

    /// Starts with desired units. Fatal if that is negative or above max().
    constexpr explicit counting_semaphore(std::ptrdiff_t desired) noexcept : core_(checked(desired)) {}

    /// Takes a unit, waiting for one if necessary. A cancellation point where it waits: throws
    /// weft::cancelled or weft::timed_out, without a unit.
    void acquire() {
        if (!core_.try_take()) core_.take(detail::never);
    }

    /// Takes a unit if there is one. Never waits and never fails spuriously.
    [[nodiscard]] bool try_acquire() noexcept { return core_.try_take(); }

    /// As acquire(), but returns false if timeout passes first. Does not wait if timeout is zero or
    /// less.
    template <typename Rep, typename Period>
    [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> timeout) {
        if (core_.try_take()) return true;
        return timeout > timeout.zero() && core_.take(detail::deadline_after(timeout));
    }

    /// The same with a deadline. If when has passed, the wait ends at once.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool try_acquire_until(std::chrono::time_point<Clock, Duration> when) {
        return core_.try_take() || core_.take(detail::deadline_at(when));
    }

    /// Gives update units to the waiters, oldest first; the rest stays available. Fatal if update
    /// is negative, or if the count would exceed max(). The semaphore may be gone when this
    /// returns.
    void release(std::ptrdiff_t update = 1) noexcept { core_.give(update, LeastMaxValue); }

private:
    static constexpr uint32_t checked(std::ptrdiff_t desired) noexcept {
        if (desired < 0 || desired > LeastMaxValue) detail::fatal_semaphore_count(desired, LeastMaxValue);
        return static_cast<uint32_t>(desired);
    }

    detail::semaphore_core core_;
};

using binary_semaphore = counting_semaphore<1>;

}  // namespace weft
