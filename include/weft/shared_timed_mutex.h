// shared_timed_mutex.h: a shared mutex that one may stop waiting for.
//
// A weft::shared_mutex that can also be locked, and locked shared, with a deadline: of the same size, with the same fast path and the
// same bounds on waiting (shared_mutex.h). It meets the standard's SharedTimedMutex requirements. It can be used wherever a
// weft::shared_mutex is asked for, and reports of misuse call it that.
//
// The forms with a deadline are cancellation points when they have to wait: they throw weft::cancelled or weft::timed_out
// (error.h) when a scope or deadline around the caller ends it; nothing is locked then. A writer that gives up lets the readers in
// that it kept out.
//
// See: docs/shared_mutex.md, test/model/shared_mutex_model.cc
#pragma once

#include <chrono>

#include <weft/detail/require.h>
#include <weft/detail/time_point.h>
#include <weft/shared_mutex.h>

namespace weft {

class shared_timed_mutex : public shared_mutex {
public:
    // Any thread. Blocks until the lock is ours alone, or for timeout. False: the time was up first. A timeout of zero or less:
    // tries once, without waiting.
    template <typename Rep, typename Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> timeout) {
        return try_lock() || lock_until(detail::deadline_after(timeout));
    }

    // As try_lock_for, until a point in time of any clock.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> when) {
        return try_lock() || lock_until(detail::deadline_at(when));
    }

    // Any thread. Blocks until we are one of its readers, or for timeout; otherwise as try_lock_for.
    template <typename Rep, typename Period>
    [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> timeout) {
        return try_lock_shared() || lock_shared_until(detail::deadline_after(timeout));
    }

    // As try_lock_shared_for, until a point in time of any clock.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> when) {
        return try_lock_shared() || lock_shared_until(detail::deadline_at(when));
    }
};

}  // namespace weft
