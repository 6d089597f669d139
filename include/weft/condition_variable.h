// condition_variable.h: waiting, under a lock, for a condition that other threads change under the
// same lock.
//
// Names and semantics are those of the standard. condition_variable works with
// std::unique_lock<weft::mutex>, condition_variable_any with anything that has lock() and unlock().
// Every wait also has a form with a std::stop_token.
//
//     std::unique_lock lock(m);                                  const std::lock_guard lock(m);
//     ready.wait(lock, [&] { return !queue.empty(); });          queue.push_back(job);
//     take(queue);                                               ready.notify_one();
//
// Beyond the standard:
// - Waiters are woken in order of arrival; a notify_one() never goes to a waiter that came later.
// - There are no spurious wake-ups.
// - A notify is never lost: if a waiter has timed out or is cancelled, the next one gets it.
//
// A wait is a cancellation point: it throws weft::cancelled or weft::timed_out, with the lock held
// again. Relocking is not a cancellation point.
//
// As in the standard, it may be destroyed as soon as all waiters have been notified, even before
// they return, because a notified waiter does not access it. A waiter that something else ends at
// that moment does; the destructor waits until it has left. Fatal: destroying it before all have
// been notified, waiting with two mutexes at a time, and waiting without the lock.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty (a waiter that timed out may
//                 leave it set).
//             I2. The word counts the waiters that will come back to the lock although they are not
//                 in the queue.
// Threads:    any thread.
// See:        docs/condition_variable.md, test/model/condition_variable_model.cc
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <utility>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/step.h>
#include <weft/detail/time_point.h>
#include <weft/detail/wait.h>
#include <weft/mutex.h>

namespace weft {

namespace detail {

struct condition_waiter;
struct stop_watch;

// A G that waits on a condition variable, or was taken off its queue by a notify, will never run
// again. Gives back what it holds of others. The notify is not given back: it had woken the G, and
// the condition variable may be gone. served: it was taken off its queue.
void condition_wait_abandoned(lock_waiter& w, bool served) noexcept;

// The core of both condition variables. Does not lock the mutex again.
class condition_core {
public:
    condition_core() = default;
    condition_core(const condition_core&) = delete;
    condition_core& operator=(const condition_core&) = delete;

    ~condition_core() {
        if (state_.word().load(acquire) != 0) wait_for_returns();  // acquire: with come_back's unlock
    }

    // Unlocks m and blocks until a later notify, until deadline_ns, until stop is requested (may be
    // nullptr), or until the caller is cancelled. The object may be gone when this returns.
    wait_result wait(mutex& m, int64_t deadline_ns, const std::stop_token* stop) noexcept;

    // relaxed, in both: a waiter locks the word before it unlocks the mutex; this load is ordered
    // after that, or need not see it.
    void notify_one() noexcept {
        step(operation::condition_notify, this);
        if (state_.word().load(relaxed) != 0) notify_one_slow();  // relaxed: as above
    }

    void notify_all() noexcept {
        step(operation::condition_notify, this);
        if (state_.word().load(relaxed) != 0) notify_all_slow();  // relaxed: as above
    }

private:
    friend struct stop_watch;
    friend void detail::condition_wait_abandoned(lock_waiter& w, bool served) noexcept;

    static constexpr uint32_t waiting = 2;
    static constexpr uint32_t dying = 4;  // the destructor waits for the count to be zero
    static constexpr uint32_t one = 8;

    wait_result wait_stoppable(mutex& m, int64_t deadline_ns, const std::stop_token& stop) noexcept;
    wait_result park(condition_waiter& me, uint32_t bits, mutex& m, int64_t deadline_ns) noexcept WEFT_RELEASE(state_);
    waiter* pop_locked(uint32_t& bits) noexcept;
    void come_back() noexcept;
    void notify_one_slow() noexcept;
    void notify_all_slow() noexcept;
    void wait_for_returns() noexcept;

    guarded_word state_;                   // the bits above, and how many come back
    wait_queue waiters_;                   // guarded by state_
    guarded<mutex*> used_with_ = nullptr;  // guarded by state_; while the queue is not empty
};

// Returns lock's mutex. Fatal if lock does not hold one.
[[nodiscard]] mutex& mutex_held_by(const std::unique_lock<mutex>& lock) noexcept;

// Throws if result is cancelled or expired; otherwise returns whether the wait timed out.
inline bool time_is_up(wait_result result) {
    if (result == wait_result::cancelled || result == wait_result::expired) throw_interrupted(result);
    return result == wait_result::timed_out;
}

// The waits of both condition variables. Each unlocks lock, blocks, and returns or throws with lock
// locked again. Self::wait_ns does one wait and returns whether it timed out.
template <typename Self>
class condition_waits {
public:
    // Waits to be notified.
    template <typename Lock>
    void wait(Lock& lock) {
        self().wait_ns(lock, never, nullptr);
    }

    // The same, with a timeout.
    template <typename Lock, typename Rep, typename Period>
    std::cv_status wait_for(Lock& lock, std::chrono::duration<Rep, Period> timeout) {
        return status(self().wait_ns(lock, deadline_after(timeout), nullptr));
    }

    template <typename Lock, typename Clock, typename Duration>
    std::cv_status wait_until(Lock& lock, std::chrono::time_point<Clock, Duration> when) {
        return status(self().wait_ns(lock, deadline_at(when), nullptr));
    }

    // Waits until pred(), called with lock locked, returns true.
    template <typename Lock, typename Predicate>
    void wait(Lock& lock, Predicate pred) {
        while (!pred()) self().wait_ns(lock, never, nullptr);
    }

    // The same, with a timeout. Returns the last result of pred().
    template <typename Lock, typename Rep, typename Period, typename Predicate>
    bool wait_for(Lock& lock, std::chrono::duration<Rep, Period> timeout, Predicate pred) {
        return wait_until_true(lock, deadline_after(timeout), nullptr, pred);
    }

    template <typename Lock, typename Clock, typename Duration, typename Predicate>
    bool wait_until(Lock& lock, std::chrono::time_point<Clock, Duration> when, Predicate pred) {
        return wait_until_true(lock, deadline_at(when), nullptr, pred);
    }

    // The same, but also ends when stop is requested.
    template <typename Lock, typename Predicate>
    bool wait(Lock& lock, std::stop_token stop, Predicate pred) {  // NOLINT: by value, as in the standard
        return wait_until_true(lock, never, &stop, pred);
    }

    template <typename Lock, typename Rep, typename Period, typename Predicate>
    bool wait_for(Lock& lock,
                  std::stop_token stop,
                  std::chrono::duration<Rep, Period> timeout,  // NOLINT: as above
                  Predicate pred) {
        return wait_until_true(lock, deadline_after(timeout), &stop, pred);
    }

    template <typename Lock, typename Clock, typename Duration, typename Predicate>
    bool wait_until(Lock& lock,
                    std::stop_token stop,
                    std::chrono::time_point<Clock, Duration> when,  // NOLINT: as above
                    Predicate pred) {
        return wait_until_true(lock, deadline_at(when), &stop, pred);
    }

private:
    friend Self;

    condition_waits() = default;
    ~condition_waits() = default;

    Self& self() noexcept { return static_cast<Self&>(*this); }

    static std::cv_status status(bool time_is_up) noexcept {
        return time_is_up ? std::cv_status::timeout : std::cv_status::no_timeout;
    }

    template <typename Lock, typename Predicate>
    bool wait_until_true(Lock& lock, int64_t deadline_ns, const std::stop_token* stop, Predicate& pred) {
        while (stop == nullptr || !stop->stop_requested()) {
            if (pred()) return true;
            if (self().wait_ns(lock, deadline_ns, stop)) break;
        }
        return pred();
    }
};

}  // namespace detail

/// For std::unique_lock<weft::mutex>.
class condition_variable : public detail::condition_waits<condition_variable> {
public:
    /// Any thread, holding the mutex or not. Wakes the oldest waiter, if any.
    void notify_one() noexcept { core_.notify_one(); }

    /// Any thread, holding the mutex or not. Wakes all waiters. The condition variable may be
    /// destroyed when this returns.
    void notify_all() noexcept { core_.notify_all(); }

private:
    friend detail::condition_waits<condition_variable>;

    bool wait_ns(std::unique_lock<mutex>& lock, int64_t deadline_ns, const std::stop_token* stop);

    detail::condition_core core_;
};

/// For any lock with lock() and unlock(). Costs a second mutex, held while the lock is released and
/// at each notify.
class condition_variable_any : public detail::condition_waits<condition_variable_any> {
public:
    /// As in condition_variable.
    void notify_one() noexcept {
        const std::lock_guard hold(inner_);
        core_.notify_one();
    }

    void notify_all() noexcept {
        const std::lock_guard hold(inner_);
        core_.notify_all();
    }

private:
    friend detail::condition_waits<condition_variable_any>;

    // A thread that notifies after lock was unlocked takes inner_, so this waiter has joined the
    // queue by then. inner_ is not accessed again.
    template <typename Lock>
    bool wait_ns(Lock& lock, int64_t deadline_ns, const std::stop_token* stop) {
        inner_.lock();
        try {
            lock.unlock();
        } catch (...) {  // std::unique_lock's throws if it is not locked
            inner_.unlock();
            throw;
        }
        const detail::wait_result result = core_.wait(inner_, deadline_ns, stop);
        lock_again(lock);
        return detail::time_is_up(result);
    }

    // An exception from lock() ends the process, as in the standard.
    template <typename Lock>
    static void lock_again(Lock& lock) noexcept {
        lock.lock();
    }

    mutex inner_;
    detail::condition_core core_;
};

}  // namespace weft
