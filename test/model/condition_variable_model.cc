// condition_variable_model.cc: condition variables.
//
// - No notification is lost, even if it reaches a waiter whose deadline passes at that moment.
// - The condition variable may be destroyed as soon as all waiters have been notified, even if some
//   have not returned.
//
// weft/condition_variable.h, src/sync/condition_variable.cc, the mutex and src/wait/wait.cc are
// compiled as they are. The callbacks of a stop_token have a stand-in: a single callback, which a
// thread of the model calls.
//
// mutants: NOT_QUEUED_YET NOTIFY_TRIES_ONCE UNLOCK_BITS_RELAXED LOCK_BITS_RELAXED TOUCHED_AFTER_NOTIFY
// mutants: OVERTAKEN_NOT_COUNTED STOP_NOT_COUNTED RETURNS_NOT_AWAITED STOP_NOT_SEEN
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

#include <weft/error.h>

#include "model.h"

#if defined(MUTANT_LOCK_BITS_RELAXED)
#undef acquire
#define acquire RELAXED_IN("lock_bits", rl::mo_acquire)
#elif defined(MUTANT_UNLOCK_BITS_RELAXED)
#undef release
#define release RELAXED_IN("unlock_bits", rl::mo_release)
#endif
#include <weft/detail/wait.h>

#include "green.h"

namespace model {

// The one callback of an execution: registered, running, over or deregistered.
struct stop_state {
    static constexpr int idle = 0, registered = 1, running = 2, over = 3;
    weft::detail::atomic<int> state{idle};
    void (*call)(const void*) = nullptr;
    const void* callback = nullptr;

    // Like request_stop(): calls the callback if one is registered.
    void request() {
        int expected = registered;
        if (!state.compare_exchange_strong(expected, running, acq_rel, relaxed)) return;
        call(callback);
        state.store(over, release);
    }
};

inline stop_state* stops;

}  // namespace model

namespace std {

template <typename F>
struct callback_of_the_model {
    callback_of_the_model(const stop_token&, F f) : it(f) {
        model::stops->callback = this;
        model::stops->call = [](const void* p) { static_cast<const callback_of_the_model*>(p)->it(); };
        model::stops->state.store(model::stop_state::registered, release);
    }

    // Waits for the callback if it is running.
    ~callback_of_the_model() {
        int expected = model::stop_state::registered;
        if (model::stops->state.compare_exchange_strong(expected, model::stop_state::idle, acq_rel, acquire)) return;
        while (model::stops->state.load(acquire) != model::stop_state::over) rl::yield(1, $);
    }

    F it;
};

}  // namespace std

#define stop_callback callback_of_the_model
#include <weft/condition_variable.h>
#include <weft/mutex.h>

#include "wait/wake_list.h"
#if defined(MUTANT_NOT_QUEUED_YET)
#define unlock_now() unlock_now(), state_.unlock_bits(bits), static_cast<void>(state_.lock_bits())
#elif defined(MUTANT_NOTIFY_TRIES_ONCE)
#define while if
#elif defined(MUTANT_TOUCHED_AFTER_NOTIFY)
#define wake() wake(), static_cast<void>(waiters_.empty())
#elif defined(MUTANT_OVERTAKEN_NOT_COUNTED)
#define one (std::strcmp(__func__, "pop_locked") == 0 ? 0U : one)
#elif defined(MUTANT_STOP_NOT_COUNTED)
#define one (std::strcmp(__func__, "wait_stoppable") == 0 ? 0U : one)
#elif defined(MUTANT_RETURNS_NOT_AWAITED)
#define one (std::strcmp(__func__, "wait_for_returns") == 0 ? ~0U : one)
#elif defined(MUTANT_STOP_NOT_SEEN)
#define true (std::strcmp(__func__, "fire") != 0)
#endif
#include "sync/condition_variable.cc"
#undef unlock
#undef while
#undef wake
#undef one
#undef true
#undef stop_callback

#include "sched/park.cc"
#include "sync/mutex.cc"
#include "wait/wait.cc"

namespace {

using namespace model;
using weft::condition_variable;
using weft::mutex;

constexpr std::chrono::steady_clock::time_point soon{std::chrono::nanoseconds{some_time}};

// One thread waits for a flag. Another sets it and notifies, under the lock or after it.
template <int Greens, int Plains, bool Under>
struct flag : program<flag<Greens, Plains, Under>, Greens, Plains> {
    mutex m;
    condition_variable c;
    guarded<bool> set = false;

    void run(unsigned me) {
        std::unique_lock lock(m);
        if (me == 0) {
            c.wait(lock, [&] { return bool{set}; });
            return;
        }
        set = true;
        if (Under) c.notify_one();
        lock.unlock();
        if (!Under) c.notify_one();
    }
};

// Two threads take turns, with one condition variable.
template <int Greens, int Plains>
struct turns : program<turns<Greens, Plains>, Greens, Plains> {
    mutex m;
    condition_variable c;
    guarded<unsigned> turn = 0;

    void run(unsigned me) {
        for (unsigned round = 0; round < 2; ++round) {
            std::unique_lock lock(m);
            c.wait(lock, [&] { return turn == 2 * round + me; });
            ++turn;
            c.notify_one();
        }
    }

    void after() { RL_ASSERT(turn == 4); }
};

// How the waiters of a suite below wait.
enum class how { plainly, with_deadline, with_stop, with_both };

// Thread 1 notifies all and destroys the condition variable at once. Something else may end a
// waiter's wait at that moment: its deadline, which thread 2 lets pass if it is green, or a stop,
// which the last thread requests.
template <int Greens, int Plains, how How, bool Fires>
struct destroyed : program<destroyed<Greens, Plains, How, Fires>, Greens, Plains> {
    mutex m;
    box<condition_variable> c;
    sleeper waits;
    stop_state stop;

    destroyed() { stops = &stop; }

    void run(unsigned me) {
        if (me == 0) {
            std::unique_lock lock(m);
            waits.call();
            bool looked = false;
            const auto once = [&] { return std::exchange(looked, true); };
            if (How == how::plainly) c->wait(lock);
            if (How == how::with_deadline) (void)c->wait_until(lock, soon);
            if (How == how::with_stop) (void)c->wait(lock, std::stop_token(), once);
            if (How == how::with_both) (void)c->wait_until(lock, std::stop_token(), soon, once);
            RL_ASSERT(lock.owns_lock());
        } else if (me == 1) {
            waits.sleep();
            m.lock();  // thread 0 waits now, or has waited
            m.unlock();
            c->notify_all();
            c.destroy();
        } else if (Fires && me == 2) {
            this->fire(0);
        } else {
            stop.request();
        }
    }
};

// The notified waiter destroys it as soon as it returns.
template <int Greens, int Plains>
struct destroyed_by_waiter : program<destroyed_by_waiter<Greens, Plains>, Greens, Plains> {
    mutex m;
    box<condition_variable> c;
    sleeper waits;

    void run(unsigned me) {
        if (me == 0) {
            std::unique_lock lock(m);
            waits.call();
            c->wait(lock);
            c.destroy();
        } else {
            waits.sleep();
            m.lock();
            m.unlock();
            c->notify_all();
        }
    }
};

// Two waiters are notified at once.
struct both_notified : program<both_notified, 1, 2> {
    mutex m;
    box<condition_variable> c;
    sleeper waits[2];

    void run(unsigned me) {
        if (me < 2) {
            std::unique_lock lock(m);
            waits[me].call();
            c->wait(lock);
            return;
        }
        waits[0].sleep();
        waits[1].sleep();
        m.lock();
        c->notify_all();
        c.destroy();
        m.unlock();
    }
};

// One token and one notification for two waiters, of which the first gives up when its deadline
// passes. The waiter that takes the token tells the other one.
struct not_lost : program<not_lost, 1, 3> {
    mutex m;
    condition_variable c;
    sleeper first_waits;
    guarded<int> tokens = 0;
    guarded<bool> over = false;

    void run(unsigned me) {
        if (me == 3) {
            fire(0);
            return;
        }
        if (me == 1) first_waits.sleep();
        std::unique_lock lock(m);
        if (me == 0) {
            first_waits.call();
            if (c.wait_until(lock, soon) == std::cv_status::timeout) return;
            if (!over) take();  // otherwise the other waiter came first, and did not have to wait
        } else if (me == 1) {
            c.wait(lock, [&] { return tokens != 0 || over; });
            if (!over) take();
        } else {
            ++tokens;
            c.notify_one();
        }
    }

    void take() {
        RL_ASSERT(tokens == 1);
        --tokens;
        over = true;
        c.notify_one();
    }
};

// A stop before, during or after the start of a wait ends the wait. No thread notifies.
template <int Greens, int Plains>
struct stopped : program<stopped<Greens, Plains>, Greens, Plains> {
    mutex m;
    condition_variable c;
    stop_state stop;

    stopped() { stops = &stop; }

    void run(unsigned me) {
        if (me != 0) {
            while (stop.state.load(acquire) == stop_state::idle) rl::yield(1, $);
            stop.request();
            return;
        }
        std::unique_lock lock(m);
        bool looked = false;
        c.wait(lock, std::stop_token(), [&] { return std::exchange(looked, true); });
    }
};

}  // namespace

int main() {
    const bool ok = check<flag<0, 2, false>>("a plain waiter, notified after the lock", switches(2)) &&
                    check<flag<0, 2, true>>("a plain waiter, notified under it", random(200'000)) &&
                    check<flag<1, 1, true>>("a green waiter, notified under it", random(300'000)) &&
                    check<flag<2, 0, false>>("two green threads", random(200'000)) &&
                    check<turns<1, 1>>("taking turns", random(200'000)) &&
                    check<destroyed<0, 2, how::plainly, false>>("destroyed, a plain waiter", switches(2)) &&
                    check<destroyed<1, 1, how::plainly, false>>("destroyed, a green waiter", random(300'000)) &&
                    check<destroyed_by_waiter<0, 2>>("destroyed by a plain waiter", switches(2)) &&
                    check<destroyed_by_waiter<1, 1>>("destroyed by a green waiter", random(300'000)) &&
                    check<destroyed<1, 2, how::with_deadline, true>>("destroyed at the deadline", random(500'000)) &&
                    check<destroyed<0, 2, how::with_deadline, false>>("destroyed at a plain deadline", switches(2)) &&
                    check<destroyed<0, 3, how::with_stop, false>>("destroyed at a stop", random(500'000)) &&
                    check<destroyed<1, 3, how::with_both, true>>("destroyed at both", random(500'000)) &&
                    check<both_notified>("two notified at once", random(200'000)) &&
                    check<not_lost>("a notify meets a deadline", random(500'000)) &&
                    check<stopped<1, 1>>("a stop", random(200'000)) &&
                    check<stopped<0, 2>>("a stop of a plain wait", switches(2));
    return ok ? 0 : 1;
}
