// recursive_mutex.h: a mutex that its holder may lock again.
//
// A weft::mutex that records its holder, a green or plain thread, and the depth. The holder gets it
// again at once; it is free after as many unlocks. Waiters are served as with weft::mutex
// (mutex.h). Works with std::unique_lock, std::scoped_lock, std::lock_guard; recursive_timed_mutex
// meets the standard's TimedLockable requirements.
//
// It belongs to the green thread, not to its OS thread: a green thread may park while it holds one.
// Fatal: unlocking one that the caller does not hold, and destroying one that is held or waited
// for. lock() is not a cancellation point; try_lock_for and try_lock_until are, where they wait, as
// in weft::timed_mutex.
//
// Invariants: I1. holder_ names the holder. It never equals another thread's own value, so it may
//                 be compared without the lock.
// See:        docs/mutex.md
#pragma once

#include <chrono>
#include <cstdint>

#include <weft/detail/owner.h>
#include <weft/detail/require.h>
#include <weft/detail/time_point.h>
#include <weft/mutex.h>

namespace weft {

class recursive_mutex {
public:
    /// Maximum locking depth of one holder.
    static constexpr uint32_t max_depth = (1U << 24) - 1;

    constexpr recursive_mutex() noexcept = default;
    recursive_mutex(const recursive_mutex&) = delete;
    recursive_mutex& operator=(const recursive_mutex&) = delete;

    ~recursive_mutex() { mutex_.check_destroyed("weft::recursive_mutex"); }

    /// Any thread. Blocks until the caller holds the mutex; increases the depth if it already does.
    /// Throws std::system_error (resource_unavailable_try_again) at max_depth.
    void lock() {
        const detail::owner me = detail::current_owner();
        if (is_held_by(me)) {
            if (!go_deeper()) throw_too_deep();
            return;
        }
        mutex_.lock();
        set_holder(me);
    }

    /// Any thread. Never blocks; fails while another thread holds it or waits for it, and at
    /// max_depth.
    [[nodiscard]] bool try_lock() noexcept {
        const detail::owner me = detail::current_owner();
        if (is_held_by(me)) return go_deeper();
        if (!mutex_.try_lock()) return false;
        set_holder(me);
        return true;
    }

    /// Caller: the holder.
    void unlock() noexcept {
        if (!is_held_by(detail::current_owner())) [[unlikely]]
            fatal_not_held();
        if (--depth_ != 0) return;
        holder_.store(nullptr, detail::relaxed);  // relaxed: I1
        mutex_.unlock();
    }

protected:
    // As try_lock, until deadline_ns has passed. A cancellation point.
    [[nodiscard]] bool lock_until(int64_t deadline_ns) {
        const detail::owner me = detail::current_owner();
        if (is_held_by(me)) return go_deeper();
        if (!mutex_.try_lock() && !mutex_.lock_until(deadline_ns)) return false;
        set_holder(me);
        return true;
    }

private:
    bool is_held_by(const detail::owner& me) const noexcept {
        return holder_.load(detail::relaxed) == me.who;  // relaxed: I1
    }

    void set_holder(const detail::owner& me) noexcept {
        holder_.store(me.who, detail::relaxed);     // relaxed: I1
        number_.store(me.number, detail::relaxed);  // relaxed: for reports
        depth_ = 1;
    }

    bool go_deeper() noexcept {
        if (depth_ == max_depth) return false;
        ++depth_;
        return true;
    }

    [[noreturn]] static void throw_too_deep();
    [[noreturn]] void fatal_not_held() const noexcept;

    mutex mutex_;
    uint32_t depth_ = 0;  // guarded by mutex_
    detail::atomic<const void*> holder_{nullptr};
    detail::atomic<int64_t> number_{0};
};

class recursive_timed_mutex : public recursive_mutex {
public:
    /// Any thread. Blocks until the caller holds the mutex (increases the depth if it already
    /// does), at most for timeout. Returns false on timeout, and at max_depth. If timeout is zero
    /// or less, tries once without waiting.
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
