// shared_timed_mutex.h: a shared mutex with deadlines.
//
// A weft::shared_mutex that can also be locked, and locked shared, with a deadline. Same size, fast
// path and bounds on waiting (shared_mutex.h). Meets the standard's SharedTimedMutex requirements.
// Usable as a weft::shared_mutex, and reports of misuse call it that.
// The forms with a deadline are cancellation points where they wait. They throw weft::cancelled or
// weft::timed_out (error.h) if a scope or deadline around the caller ends the wait; nothing is
// locked then. A writer that gives up lets in the readers that it kept out.
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
    /// Any thread. Blocks until the caller holds the lock exclusively, at most for timeout. Returns
    /// false on timeout. If timeout is zero or less, tries once without waiting.
    template <typename Rep, typename Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> timeout) {
        return try_lock() || lock_until(detail::deadline_after(timeout));
    }

    /// As try_lock_for, with a deadline on any clock.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> when) {
        return try_lock() || lock_until(detail::deadline_at(when));
    }

    /// Any thread. Blocks until the caller is a reader, at most for timeout; otherwise as
    /// try_lock_for.
    template <typename Rep, typename Period>
    [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> timeout) {
        return try_lock_shared() || lock_shared_until(detail::deadline_after(timeout));
    }

    /// As try_lock_shared_for, with a deadline on any clock.
    template <typename Clock, typename Duration>
    [[nodiscard]] bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> when) {
        return try_lock_shared() || lock_shared_until(detail::deadline_at(when));
    }
};

}  // namespace weft
