// timed_mutex.h: a mutex that one may stop waiting for.
//
// A weft::mutex that can also be locked with a deadline: of the same size, with the same fast path, the same order of waiters and
// the same bound on waiting (mutex.h). It meets the standard's TimedLockable requirements. It can be used wherever a
// weft::mutex is asked for, and reports of misuse call it that.
//
// try_lock_for and try_lock_until are cancellation points when they have to wait: they throw weft::cancelled or
// weft::timed_out (error.h) when a scope or deadline around the caller ends it; the mutex is not locked then.
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
    // Any thread. Blocks until the mutex is ours, or for timeout. False: the time was up first. A timeout of zero or less: tries
    // once, without waiting.
    template <typename Rep, typename Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> timeout) {
        return try_lock() || lock_until(detail::deadline_after(timeout));
    }

    // As try_lock_for, until a point in time of any clock.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> when) {
        return try_lock() || lock_until(detail::deadline_at(when));
    }
};

}  // namespace weft
