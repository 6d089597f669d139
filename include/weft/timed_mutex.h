// timed_mutex.h: a mutex with deadlines.
//
// A weft::mutex that can also be locked with a deadline. Same size, fast path, order of waiters and
// bound on waiting (mutex.h). Meets the standard's TimedLockable requirements. Usable as a
// weft::mutex, and reports of misuse call it that.
//
// try_lock_for and try_lock_until are cancellation points where they wait. They throw
// weft::cancelled or weft::timed_out (error.h) if a scope or deadline around the caller ends the
// wait; the mutex is not locked then.
//
// See: docs/mutex.md, test/model/mutex_model.cc
#pragma once

#include <chrono>

#include <weft/detail/require.h>
#include <weft/detail/time_point.h>
#include <weft/mutex.h>

namespace weft {

class timed_mutex : public mutex {
public:
    /// Any thread. Blocks until the caller holds the mutex, at most for timeout. Returns false on
    /// timeout. If timeout is zero or less, tries once without waiting.
    template <typename Rep, typename Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> timeout) {
        return try_lock() || lock_until(detail::deadline_after(timeout));
    }

    /// As try_lock_for, with a deadline on any clock.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> when) {
        return try_lock() || lock_until(detail::deadline_at(when));
    }
};

}  // namespace weft
