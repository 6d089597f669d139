// condition_variable.h: waiting, under a lock, until something is so that others change under the same lock.
//
// Names and meaning are those of the standard's condition variables: condition_variable works with std::unique_lock<weft::mutex>,
// condition_variable_any with whatever has lock() and unlock(). Every wait also has a form with a std::stop_token.
//
//     std::unique_lock lock(m);                                  const std::lock_guard lock(m);
//     ready.wait(lock, [&] { return !queue.empty(); });          queue.push_back(job);
//     take(queue);                                               ready.notify_one();
//
// Beyond the standard: waiters are woken in the order in which they came, a notify_one() is never taken by somebody who came to wait
// after it, and nobody wakes up without a reason. A notify that meets a waiter whose time is up, or who is cancelled, goes to the
// next one: it is never lost.
//
// A wait is a cancellation point: it throws weft::cancelled or weft::timed_out, with the lock held again. Taking the lock again is
// not.
//
// As in the standard, the condition variable may be destroyed as soon as all waiters have been notified, although they may not have
// returned yet: a waiter that was notified does not touch it. One that something else ends at that very moment does; the destructor
// waits until it has left. Destroying it before all have been notified, waiting with two mutexes at a time,
// and waiting without holding the lock are fatal errors.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty (a waiter whose time was up may leave it set).
//             I2. The count in the word is that of those who come back to the lock, although nobody in the queue stands for them.
// Who:        any thread.
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
#include <weft/detail/time_point.h>
#include <weft/detail/wait.h>
#include <weft/mutex.h>

namespace weft {

namespace detail {

struct condition_waiter;
struct stop_watch;

// What both condition variables are made of. Does not lock again.
class condition_core {
public:
    condition_core() = default;
    condition_core(const condition_core&) = delete;
    condition_core& operator=(const condition_core&) = delete;

    ~condition_core() {
        if (state_.word().load(acquire) != 0) wait_for_returns();  // acquire: with come_back's unlock
    }

    // Unlocks m and blocks until a notify that comes after that, until deadline_ns, until stop (which may be nullptr) is asked for, or
    // until the caller is cancelled. The object may be gone when this returns.
    wait_result wait(mutex& m, int64_t deadline_ns, const std::stop_token* stop) noexcept;

    // relaxed, in both: who waits has locked the word before he unlocked the mutex, and this comes after that, or need not see it.
    void notify_one() noexcept {
        if (state_.word().load(relaxed) != 0) notify_one_slow();  // relaxed: as above
    }

    void notify_all() noexcept {
        if (state_.word().load(relaxed) != 0) notify_all_slow();  // relaxed: as above
    }

private:
    friend struct stop_watch;
    friend void detail::condition_wait_abandoned(waiter& w, bool linked) noexcept;

    static constexpr uint32_t waiting = 2;
    static constexpr uint32_t dying = 4;  // the destructor waits for the count to be zero
    static constexpr uint32_t one = 8;

    wait_result wait_stoppable(mutex& m, int64_t deadline_ns, const std::stop_token& stop) noexcept;
    wait_result park(condition_waiter& me, uint32_t bits, mutex& m, int64_t deadline_ns) noexcept;
    waiter* pop_locked(uint32_t& bits) noexcept;
    void come_back() noexcept;
    void notify_one_slow() noexcept;
    void notify_all_slow() noexcept;
    void wait_for_returns() noexcept;

    guarded_word state_;                   // the bits above, and how many come back
    wait_queue waiters_;                   // guarded by state_
    guarded<mutex*> used_with_ = nullptr;  // guarded by state_; while the queue is not empty
};

// lock's mutex. Fatal if it does not hold one.
[[nodiscard]] mutex& mutex_held_by(const std::unique_lock<mutex>& lock) noexcept;

// Throws if result says so; else whether the time is up.
inline bool time_is_up(wait_result result) {
    if (result == wait_result::cancelled || result == wait_result::expired) throw_interrupted(result);
    return result == wait_result::timed_out;
}

// The waits of both condition variables. Each unlocks lock, blocks, and returns or throws with lock locked again. Self::wait_ns
// does one wait and returns whether its time is up.
template <typename Self>
class condition_waits {
public:
    // Waits to be notified.
    template <typename Lock>
    void wait(Lock& lock) {
        self().wait_ns(lock, never, nullptr);
    }

    // The same, for a limited time.
    template <typename Lock, typename Rep, typename Period>
    std::cv_status wait_for(Lock& lock, std::chrono::duration<Rep, Period> timeout) {
        return status(self().wait_ns(lock, deadline_after(timeout), nullptr));
    }

    template <typename Lock, typename Clock, typename Duration>
    std::cv_status wait_until(Lock& lock, std::chrono::time_point<Clock, Duration> when) {
        return status(self().wait_ns(lock, deadline_at(when), nullptr));
    }

    // Waits until pred(), which is called with lock locked, returns true.
    template <typename Lock, typename Predicate>
    void wait(Lock& lock, Predicate pred) {
        while (!pred()) self().wait_ns(lock, never, nullptr);
    }

    // The same, for a limited time. Returns what pred() returned last.
    template <typename Lock, typename Rep, typename Period, typename Predicate>
    bool wait_for(Lock& lock, std::chrono::duration<Rep, Period> timeout, Predicate pred) {
        return wait_until_true(lock, deadline_after(timeout), nullptr, pred);
    }

    template <typename Lock, typename Clock, typename Duration, typename Predicate>
    bool wait_until(Lock& lock, std::chrono::time_point<Clock, Duration> when, Predicate pred) {
        return wait_until_true(lock, deadline_at(when), nullptr, pred);
    }

    // The same, and no longer than until stop is requested.
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

// For std::unique_lock<weft::mutex>.
class condition_variable : public detail::condition_waits<condition_variable> {
public:
    // Any thread, holding the mutex or not. Wakes who has waited longest, if anybody waits.
    void notify_one() noexcept { core_.notify_one(); }

    // Any thread, holding the mutex or not. Wakes all who wait. The condition variable may be destroyed when this returns.
    void notify_all() noexcept { core_.notify_all(); }

private:
    friend detail::condition_waits<condition_variable>;

    bool wait_ns(std::unique_lock<mutex>& lock, int64_t deadline_ns, const std::stop_token* stop);

    detail::condition_core core_;
};

// For any lock with lock() and unlock(). Costs a second mutex, held while the lock is given up, and at each notify.
class condition_variable_any : public detail::condition_waits<condition_variable_any> {
public:
    // As condition_variable's.
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

    // Whoever notifies after lock was unlocked takes inner_, and so comes after we have joined the queue. We do not touch it again.
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

    // Whatever leaves lock() ends the process, as in the standard.
    template <typename Lock>
    static void lock_again(Lock& lock) noexcept {
        lock.lock();
    }

    mutex inner_;
    detail::condition_core core_;
};

}  // namespace weft
