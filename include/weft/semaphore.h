// semaphore.h: a number of units that are taken and given back; who finds none waits.
//
// Names and meaning are those of the standard's semaphores. acquire and release are one compare-exchange each while nobody
// waits. The units go to the waiters in the order in which they came, and are handed over: release() gives a unit to the oldest
// waiter itself, so no newcomer can take it first, however often it tries, and nobody waits for longer than those before it. The
// price is that a contended semaphore changes hands at each release; where that matters more than the order, use a mutex.
//
// release() touches nothing after the store that lets an acquire() return: the semaphore may be destroyed as soon as the last
// acquire() has returned, so it can tell the end of something. What was done before release() is visible after the acquire() that
// took the unit. Destroying a semaphore while somebody waits, and more units than max(), are fatal errors.
//
// acquire() and the timed forms are cancellation points where they have to wait; what cannot be cancelled any more is served.
//
// Who: any thread.
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
                  "a weft::counting_semaphore counts to 2^30 - 1");

public:
    // The largest count: exactly LeastMaxValue.
    [[nodiscard]] static constexpr std::ptrdiff_t(max)() noexcept { return LeastMaxValue; }

    // Begins with desired units. Fatal if that is negative or above max().
    constexpr explicit counting_semaphore(std::ptrdiff_t desired) noexcept : core_(checked(desired)) {}

    // Takes a unit; waits for one if there is none. A cancellation point while it waits: throws weft::cancelled or
    // weft::timed_out, and has taken nothing then.
    void acquire() {
        if (!core_.try_take()) core_.take(detail::never);
    }

    // Takes a unit if there is one. Never waits, and never fails without reason.
    [[nodiscard]] bool try_acquire() noexcept { return core_.try_take(); }

    // As acquire(), but returns false if timeout passes first. With a timeout of zero or less it does not wait.
    template <typename Rep, typename Period>
    [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> timeout) {
        if (core_.try_take()) return true;
        return timeout > timeout.zero() && core_.take(detail::deadline_after(timeout));
    }

    // The same for a point in time. If when has passed it does not wait for long.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool try_acquire_until(std::chrono::time_point<Clock, Duration> when) {
        return core_.try_take() || core_.take(detail::deadline_at(when));
    }

    // Gives update units: to those who wait, the oldest first, and what is left to whoever comes. Fatal if update is negative, or
    // if there would be more than max(). The semaphore may be gone when this returns.
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
