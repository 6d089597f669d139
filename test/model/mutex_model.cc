// mutex_model.cc: the mutex.
//
// - It has one holder at a time. The next holder sees what the previous one wrote.
// - No waiter is forgotten: in normal mode, in starvation mode and between the two, even when
//   waiters give up.
// - It may be destroyed as soon as the last unlock has been called.
//
// weft/mutex.h, src/sync/mutex.cc and src/wait/wait.cc are compiled as they are. At any reading,
// the clock may jump beyond the starvation threshold, and beyond any deadline.
//
// mutants: LOCK_RELAXED UNLOCK_RELAXED LOCK_BITS_RELAXED UNLOCK_BITS_RELAXED LOCK_BLINDLY UNLOCK_BLINDLY
// mutants: WAITING_FORGOTTEN GIFT_REFUSED GIFT_NOT_LOCKED TOUCHED_AFTER_UNLOCK ABANDONED_IGNORED
// mutants: WAKE_KEPT TRACE_LEFT GIFT_TAKEN_FOR_TIMEOUT
#include "model.h"

#if defined(MUTANT_LOCK_BITS_RELAXED)
#undef acquire
#define acquire RELAXED_IN("lock_bits", rl::mo_acquire)
#elif defined(MUTANT_UNLOCK_BITS_RELAXED)
#undef release
#define release RELAXED_IN("unlock_bits", rl::mo_release)
#elif defined(MUTANT_TOUCHED_AFTER_UNLOCK)
#undef release
#define release rl::mo_release, $), static_cast<void>(word_.load(rl::mo_relaxed, $)
#endif
#include <weft/detail/spin_lock.h>
#if defined(MUTANT_TOUCHED_AFTER_UNLOCK)
#undef release
#define release rl::mo_release, $
#endif
#include <weft/detail/wait.h>

#include "green.h"
#if defined(MUTANT_LOCK_RELAXED)
#undef acquire
#define acquire RELAXED_IN("lock", rl::mo_acquire)
#elif defined(MUTANT_UNLOCK_RELAXED)
#undef release
#define release RELAXED_IN("unlock_now", rl::mo_release)
#elif defined(MUTANT_LOCK_BLINDLY)
#define compare_exchange_strong(expected, value, ...) exchange(value, rl::mo_acq_rel, $) != 77
#elif defined(MUTANT_UNLOCK_BLINDLY)
#define compare_exchange_strong(expected, value, ...)        \
    compare_exchange_strong(expected, value, __VA_ARGS__) && \
        !(std::strcmp(__func__, "unlock_now") == 0 && state_.word().exchange(0, rl::mo_acq_rel, $) != 77)
#endif
#define private public  // so that a suite can play a green thread that never runs again
#include <weft/mutex.h>
#undef private
#undef compare_exchange_strong
#include "os/os.h"
#if defined(MUTANT_WAITING_FORGOTTEN)
#define empty() empty() || true
#elif defined(MUTANT_GIFT_REFUSED)
#define wait(...) wait(__VA_ARGS__), me.ok = false
#elif defined(MUTANT_GIFT_NOT_LOCKED)
#define unlock_bits(bits) unlock_bits(std::strcmp(__func__, "unlock_slow") == 0 ? (bits) & ~2U : (bits))
#elif defined(MUTANT_WAKE_KEPT)  // a waiter that has timed out counts as being on its way for ever
#define unlock_bits(value) \
    unlock_bits((value) | (std::strcmp(#value, "bits") == 0 && std::strcmp(__func__, "contend") == 0 ? 4U : 0U))
#elif defined(MUTANT_TRACE_LEFT)
#define unlock_bits(value) unlock_bits((value) | (std::strcmp(__func__, "give_up") == 0 ? 16U : 0U))
#elif defined(MUTANT_GIFT_TAKEN_FOR_TIMEOUT)
#define wait_cancellable(...) unless_given(me, wait_cancellable(__VA_ARGS__))

static weft::detail::wait_result unless_given(weft::detail::waiter& w, weft::detail::wait_result r) {
    return w.ok ? weft::detail::wait_result::timed_out : r;
}
#endif
#include "sync/mutex.cc"
#undef empty
#undef wait
#undef unlock_bits
#undef wait_cancellable

#include "sched/park.cc"
#include "wait/wait.cc"

namespace {

using namespace model;

template <int Greens, int Plains, int Rounds>
struct counting : program<counting<Greens, Plains, Rounds>, Greens, Plains> {
    weft::mutex m;
    guarded<int> count = 0;

    void run(unsigned) {
        for (int i = 0; i < Rounds; ++i) {
            m.lock();
            ++count;
            m.unlock();
        }
    }

    void after() {
        RL_ASSERT(count == Rounds * (Greens + Plains));
        RL_ASSERT(m.waiters_.empty());
        RL_ASSERT(m.try_lock());  // no bit is left behind
        m.unlock();
    }
};

// The thread that finds that all others have been here destroys the mutex after its unlock.
template <int Greens, int Plains>
struct destroyed : program<destroyed<Greens, Plains>, Greens, Plains> {
    box<weft::mutex> m;
    guarded<int> count = 0;

    void run(unsigned) {
        m->lock();
        const bool last = ++count == Greens + Plains;
        m->unlock();
        if (last) m.destroy();
    }
};

// The runtime of a waiter stops, while the waiter is queued or after it was woken. Another waiter
// must still get the mutex.
struct abandoned_waiter : program<abandoned_waiter, 1, 2> {
    weft::mutex m;
    sleeper held, queued;
    guarded<int> count = 0;

    void run(unsigned me) {
        if (me == 0) {
            m.lock();
            ++count;
            m.unlock();
        } else if (me == 1) {
            m.lock();
            held.call();
            queued.sleep();
            ++count;
            m.unlock();
        } else {
            never_runs_again();
        }
    }

    void never_runs_again() {
        G& g = gs[greens];
        g.state = g_state::waiting;
        lock_waiter w(&m, &weft::mutex::pass_on);
        w.g = &g;
        held.sleep();
        const uint32_t bits = m.state_.lock_bits();
        m.waiters_.push_back(w);
        m.state_.unlock_bits(bits | weft::mutex::waiting);
        queued.call();
        // As abandon_gs in src/lifecycle/start.cc does.
        const uint32_t now_bits = m.state_.lock_bits();
        const bool linked = w.queue != nullptr;
        if (linked) m.waiters_.remove(w);
        m.state_.unlock_bits(now_bits);
        if (linked) return;
        g.turn.sleep();  // the thread that woke it is done with it
#if !defined(MUTANT_ABANDONED_IGNORED)
        w.pass_on(w, true);
#endif
    }

    void after() {
        RL_ASSERT(count == 2);
        RL_ASSERT(m.waiters_.empty());
        m.lock();
        m.unlock();
        RL_ASSERT(m.try_lock());
        m.unlock();
    }
};

// No waiter is left out, whichever waiters give up. The first Timed green threads have a deadline,
// and the last plain one if Late. Thread number Firing lets the deadline of the first pass. Each of
// the others locks Rounds times.
template <int Greens, int Plains, int Timed, bool Late, int Firing, int Rounds>
struct giving_up : program<giving_up<Greens, Plains, Timed, Late, Firing, Rounds>, Greens, Plains> {
    weft::mutex m;
    guarded<int> count = 0;

    void run(unsigned me) {
        if (me == static_cast<unsigned>(Firing)) {
            this->fire(0);
            return;
        }
        const bool patient = me >= Timed && !(Late && me + 1 == this->threads);
        for (int i = 0; i < (patient ? Rounds : 1); ++i) {
            if (patient) {
                m.lock();
            } else if (!m.lock_until(some_time)) {
                return;
            }
            ++count;
            m.unlock();
        }
    }

    void after() {
        RL_ASSERT(count >= Rounds);
        RL_ASSERT(m.waiters_.empty());
        RL_ASSERT(m.try_lock());
        m.unlock();
    }
};

constexpr int nobody = -1;

}  // namespace

int main() {
    const bool ok = check<counting<1, 1, 1>>("a green and a plain thread", switches(4)) &&           //
                    check<counting<2, 0, 2>>("two green threads, twice", switches(2)) &&             //
                    check<counting<3, 0, 1>>("three green threads", random(500'000)) &&              //
                    check<counting<0, 3, 2>>("three plain threads, twice", random(500'000)) &&       //
                    check<counting<2, 1, 3>>("two green and a plain, thrice", random(1'000'000)) &&  //
                    check<destroyed<1, 1>>("destroyed by the second holder", switches(4)) &&         //
                    check<destroyed<2, 1>>("destroyed by the third holder", random(500'000)) &&      //
                    check<abandoned_waiter>("a waiter that never runs again", switches(2)) &&        //
                    check<abandoned_waiter>("a waiter that never runs again", random(500'000)) &&    //
                    check<giving_up<1, 2, 1, false, 2, 1>>("a deadline against a holder", switches(2)) &&
                    check<giving_up<1, 2, 1, false, 2, 2>>("a deadline against a holder, twice", random(500'000)) &&
                    check<giving_up<0, 2, 0, true, nobody, 2>>("a plain deadline against a holder", switches(3)) &&
                    check<giving_up<1, 2, 1, false, nobody, 2>>("woken too late, two others", random(1'000'000)) &&
                    check<giving_up<0, 3, 0, true, nobody, 2>>("a plain thread woken too late", random(1'000'000)) &&
                    check<giving_up<2, 2, 2, false, 3, 2>>("two deadlines, one passes", random(500'000));
    return ok ? 0 : 1;
}
