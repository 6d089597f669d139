// claim_model.cc: waiters and the claim word. A wait that several threads may end is ended by one
// of them, once, and no thread touches the waiter after that.
//
// src/wait/wait.cc and fire_timers of src/sched/park.cc are compiled as they are. The rules of
// wait.h, and how a violation shows:
//   L1  claims under the lock that led to the waiter    a waiter used after its destruction, a race on its links
//   L2  the loser unlinks and leaves it alone           as L1; a waiter that stays linked
//   L3  the winner is done with the frame at ready()    a waiter used after its destruction
//   L4  the woken side takes the lock of every queue    as L1; a wait that ends without a reason
//   L5  a plain thread's note stays                     FUTEX_WAKE on memory that is gone
//   L6  one queue: the thread that unlinks has won      a deadlock, or a value handed over and not taken
//   L7  several queues: locks in one order              (two_queues does as a select would)
//
// Resuming a green thread before it was saved, or twice, is a race on its registers or violates an
// assertion on its state.
//
// mutants: PUBLISH_RELAXED CLAIM_RELAXED PUBLISH_BLINDLY CLAIM_BLINDLY TIMEOUT_BLINDLY READY_IN_BOTH
// mutants: READY_IN_NEITHER QUEUE_LEFT TIMER_LEFT TIMERS_UNLOCKED_BY_M TIMERS_UNLOCKED_BY_G QUEUE_UNLOCKED_BY_G
// mutants: TOUCHED_AFTER_READY NOTE_IN_FRAME
#include <weft/detail/spin_lock.h>

#include "model.h"
#if defined(MUTANT_PUBLISH_RELAXED)
#undef acq_rel
#define acq_rel RELAXED_IN("publish_parked", rl::mo_acq_rel)
#undef acquire
#define acquire RELAXED_IN("publish_parked", rl::mo_acquire)
#elif defined(MUTANT_CLAIM_RELAXED)
#undef acq_rel
#define acq_rel RELAXED_IN("try_claim", rl::mo_acq_rel)
#elif defined(MUTANT_PUBLISH_BLINDLY)
#define compare_exchange_strong(expected, value, ...) exchange(value, rl::mo_acq_rel, $) == seen
#elif defined(MUTANT_CLAIM_BLINDLY)
#define compare_exchange_weak(expected, value, ...) exchange(value, rl::mo_acq_rel, $) != 77
#endif
#include <weft/detail/wait.h>
#undef compare_exchange_strong
#undef compare_exchange_weak
#if defined(MUTANT_READY_IN_NEITHER)
#define publish_parked() publish_parked() || true
#endif
#include "green.h"

namespace model {

// By thread: the waiter to which it hands a value.
inline const waiter* readied[threads_max];

[[maybe_unused]] void touch_readied() {
    rl::ctx().sched();
    if (const waiter* w = readied[rl::ctx().current_thread()]; w != nullptr)
        static_cast<void>(static_cast<bool>(w->ok));
}

}  // namespace model

#if defined(MUTANT_TIMEOUT_BLINDLY)
#define try_claim(who, must) try_claim(who, must) && false
#elif defined(MUTANT_READY_IN_BOTH)
#define try_claim(who, must) try_claim(who, must) || (must = true, false)
#elif defined(MUTANT_TIMERS_UNLOCKED_BY_M)
#define lock() word()
#define unlock() word()
#endif
#include "sched/park.cc"
#undef try_claim
#undef lock
#undef unlock
#if defined(MUTANT_QUEUE_LEFT)
#define remove(w) front()
#elif defined(MUTANT_TIMER_LEFT)
#define remove_locked(t) size()
#elif defined(MUTANT_TIMERS_UNLOCKED_BY_G)
#define lock() word()
#define unlock() word()
#elif defined(MUTANT_QUEUE_UNLOCKED_BY_G)
#define lock_bits() word().load(relaxed)
#elif defined(MUTANT_TOUCHED_AFTER_READY)
#define ready_g_inside(m, g) ready_g_inside(m, g), model::touch_readied()
#define ready_g_outside(g) ready_g_outside(g), model::touch_readied()
#endif
#include "wait/wait.cc"
#undef remove
#undef remove_locked
#undef lock
#undef unlock
#undef lock_bits
#undef ready_g_inside
#undef ready_g_outside

namespace {

using namespace model;

constexpr int handed_over = 7;

// A queue and its lock, and a value that is handed over.
struct object {
    spin_lock lock;
    wait_queue waiters;

    // Waits, until deadline_ns at the latest. Returns whether it was given a value.
    bool take(int64_t deadline_ns) {
        guarded<int> value = 0;
        waiter me;
        me.slot = &value;
        lock.lock();
        const bool ended = wait_cancellable(lock, {.me = me,
                                                   .queue = waiters,
                                                   .bits = 0,
                                                   .reason = wait_reason::chan_receive,
                                                   .deadline_ns = deadline_ns}) == wait_result::served;
        RL_ASSERT(me.queue == nullptr);
        RL_ASSERT(ended || !me.ok);
        RL_ASSERT(!me.ok || value == handed_over);
        return me.ok;
    }

    // Hands a value to the oldest waiter whose wait has not ended yet.
    bool give() {
        lock.lock();
        waiter* w = waiters.pop_claimed();
        lock.unlock();
        if (w == nullptr) return false;
        *static_cast<guarded<int>*>(w->slot) = handed_over;
        w->ok = true;
        readied[rl::ctx().current_thread()] = w;
        ready(*w);
        readied[rl::ctx().current_thread()] = nullptr;
        return true;
    }

    // Ends all waits without a value.
    void close() {
        lock.lock();
        waiter* chain = waiters.pop_all_claimed();
        lock.unlock();
        ready_all(chain);
    }
};

template <typename Suite, int Greens, int Plains>
struct suite : program<Suite, Greens, Plains> {
    object it;
    int given = 0;
    int taken = 0;

    void after() {
        RL_ASSERT(given == taken);
        RL_ASSERT(it.waiters.empty());
        for (P& p : this->ps) RL_ASSERT(p.timers.size() == 0);
    }
};

// A green thread waits with a deadline. Another thread gives, and the deadline passes.
struct deadline : suite<deadline, 1, 2> {
    void run(unsigned me) {
        if (me == 0) taken += it.take(some_time) ? 1 : 0;
        if (me == 1) given += it.give() ? 1 : 0;
        if (me == 2) fire(0);
    }
};

// Like deadline, with a second giver.
struct two_givers : suite<two_givers, 1, 3> {
    void run(unsigned me) {
        if (me == 0) taken += it.take(some_time) ? 1 : 0;
        if (me == 1 || me == 2) given += it.give() ? 1 : 0;
        if (me == 3) fire(0);
    }
};

// A plain thread with a deadline, two givers.
struct plain_deadline : suite<plain_deadline, 0, 3> {
    void run(unsigned me) {
        if (me != 0) {
            given += it.give() ? 1 : 0;
            return;
        }
        taken += it.take(some_time) ? 1 : 0;
#if defined(MUTANT_NOTE_IN_FRAME)
        futexes.gone = &notes[0];
        futexes.gone_size = sizeof(notes[0]);
#endif
    }
};

// A green and a plain thread wait, one of them with a deadline. All waits are ended at once.
struct closing : suite<closing, 1, 3> {
    sleeper waits[2];

    void run(unsigned me) {
        if (me < 2) {
            waiter w;
            it.lock.lock();
            waits[me].call();
            const bool ended =
                wait_cancellable(it.lock, {.me = w,
                                           .queue = it.waiters,
                                           .bits = 0,
                                           .reason = wait_reason::chan_receive,
                                           .deadline_ns = me == 0 ? some_time : never}) == wait_result::served;
            RL_ASSERT((ended || me == 0) && !w.ok && w.queue == nullptr);
        } else if (me == 2) {
            for (sleeper& both : waits) both.sleep();
            it.close();
        } else {
            fire(0);
        }
    }
};

// A green giver readies a green thread. Another one, behind it in the queue, times out.
struct three_greens : suite<three_greens, 3, 1> {
    void run(unsigned me) {
        if (me < 2) taken += it.take(some_time) ? 1 : 0;
        if (me == 2) given += it.give() ? 1 : 0;
        if (me == 3) {
            fire(0);
            fire(1);
        }
    }
};

// One wait in two queues, like that of a select: two waiters, one claim. The winner claims while
// the green thread is still parking, or after that. It writes its result under the lock that the
// woken side takes.
struct two_queues : program<two_queues, 1, 2> {
    object its[2];
    sleeper linked[2];
    int given = 0;

    void run(unsigned me) {
        if (me == 0) {
            select();
            return;
        }
        object& it = its[me - 1];
        linked[me - 1].sleep();
        it.lock.lock();
        waiter* w = it.waiters.pop_claimed();
        const bool must_ready = w != nullptr && w->must_ready;
        if (w != nullptr) w->ok = true;
        it.lock.unlock();
        if (w == nullptr) return;
        ++given;
        if (must_ready) ready(*w);
    }

    void select() {
        claim_word claim;
        waiter w[2];
        M* m = current_g_m();
        for (object& it : its) it.lock.lock();  // L7
        for (int i = 0; i < 2; ++i) {
            its[i].waiters.push_back(w[i]);
            w[i].lock = &its[i].lock;
            w[i].claim = &claim;
            w[i].g = m->g;
            linked[i].call();
        }
        its[0].lock.unlock();
        m->after = {after_switch::kind::park_claimable, 0, &its[1].lock, &claim, m->g};
        m = switch_away(m);
        int served = 0;
        for (int i = 0; i < 2; ++i) {  // L4
            its[i].lock.lock();
            if (w[i].queue != nullptr) its[i].waiters.remove(w[i]);
            served += w[i].ok ? 1 : 0;
            its[i].lock.unlock();
        }
        RL_ASSERT(served == 1);
    }

    void after() { RL_ASSERT(given == 1); }
};

}  // namespace

int main() {
    const bool ok = check<deadline>("a deadline against a giver", switches(2)) &&                       //
                    check<deadline>("a deadline against a giver", random(500'000)) &&                   //
                    check<two_givers>("a deadline against two givers", switches(1)) &&                  //
                    check<two_givers>("a deadline against two givers", random(500'000)) &&              //
                    check<plain_deadline>("a plain thread's deadline, two givers", switches(1)) &&      //
                    check<plain_deadline>("a plain thread's deadline, two givers", random(500'000)) &&  //
                    check<closing>("two waits ended at once", random(1'000'000)) &&                     //
                    check<three_greens>("one given, one too late", random(500'000)) &&                  //
                    check<two_queues>("one wait in two queues", switches(3)) &&                         //
                    check<two_queues>("one wait in two queues", random(500'000));
    return ok ? 0 : 1;
}
