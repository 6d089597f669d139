// weighted_semaphore.h: a number of units, of which each caller takes as many as it needs.
//
//     weft::weighted_semaphore memory(64 << 20);   // bytes
//     weft::semaphore_guard hold(memory, image.size());
//
// Like Go's golang.org/x/sync/semaphore. Callers get their units in order of arrival: a large
// request waits until enough units are free, and later ones wait behind it even if their units are
// free. So a stream of small requests cannot starve a large one.
//
// The semaphore may be destroyed when the last acquire() has returned: release() accesses nothing
// after the store that lets it return. What happened before release() is visible after the
// acquire() that took the units. Fatal: destroying it with waiters, and releasing more than was
// taken.
//
// acquire() and the timed forms are cancellation points where they wait. If the cancellation comes
// too late, they succeed. A waiter that is interrupted or whose time is up leaves the queue, and
// those behind it are served.
//
// Invariants: I1. No waiter that waits at the front of the queue fits into the available units,
//                 whenever the lock is free; except for a moment if that waiter leaves.
// Threads:    any thread.
// See:        docs/semaphore.md
#pragma once

#include <chrono>
#include <cstdint>

#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/time_point.h>
#include <weft/detail/wait.h>

namespace weft {

class weighted_semaphore {
public:
    /// Starts with size units. Throws std::invalid_argument if that is negative.
    explicit weighted_semaphore(int64_t size);

    weighted_semaphore(const weighted_semaphore&) = delete;
    weighted_semaphore& operator=(const weighted_semaphore&) = delete;
    ~weighted_semaphore();

    /// Takes n units, waiting for them if necessary. A cancellation point where it waits: throws
    /// weft::cancelled or weft::timed_out, without units. Throws std::invalid_argument unless n is
    /// from 0 to size(), because more can never be free.
    void acquire(int64_t n = 1);

    /// Takes n units if they are free and no other caller waits. Never waits. False also if n is
    /// above size(). Throws std::invalid_argument if n is negative.
    [[nodiscard]] bool try_acquire(int64_t n = 1);

    /// As acquire(), but returns false if timeout passes first. Does not wait if timeout is zero or
    /// less.
    template <typename Rep, typename Period>
    [[nodiscard]] bool try_acquire_for(int64_t n, std::chrono::duration<Rep, Period> timeout) {
        return take(n, timeout > timeout.zero() ? detail::deadline_after(timeout) : 0);
    }

    /// The same with a deadline.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool try_acquire_until(int64_t n, std::chrono::time_point<Clock, Duration> when) {
        return take(n, detail::deadline_at(when));
    }

    /// Gives n units back, and hands them to the waiters that fit, oldest first. Fatal if n is
    /// negative or more than is taken. The semaphore may be gone when this returns.
    void release(int64_t n = 1) noexcept;

    /// The number of units that it was made with.
    [[nodiscard]] int64_t size() const noexcept { return size_; }

    /// The number of free units; a snapshot.
    [[nodiscard]] int64_t available() const noexcept;

private:
    struct request;

    bool take(int64_t n, int64_t deadline_ns);
    void give(int64_t n) noexcept;

    const int64_t size_;
    mutable detail::spin_lock lock_;
    // Guarded by lock_.
    detail::guarded<int64_t> available_;
    detail::wait_queue waiters_;
};

}  // namespace weft
