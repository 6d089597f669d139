// semaphore_model.cc: semaphores.
//
// - One thread holds a unit at a time. What was done before release() is visible after acquire().
// - No unit is lost or duplicated, even if a deadline passes at that moment.
// - The semaphore may be destroyed as soon as the last acquire has returned.
//
// weft/detail/semaphore_core.h, src/wait/semaphore.cc and src/wait/wait.cc are compiled as they
// are.
//
// mutants: ACQUIRE_RELAXED RELEASE_RELAXED LOCK_BITS_RELAXED UNLOCK_BITS_RELAXED TAKE_BLINDLY WAITING_FORGOTTEN LOOKED_ONCE
// mutants: LOSER_SERVED TIMEOUT_SERVED TOUCHED_AFTER_STORE ABANDONED_IGNORED
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
#if defined(MUTANT_ACQUIRE_RELAXED)
#undef acquire
#define acquire RELAXED_IN("try_take", rl::mo_acquire)
#elif defined(MUTANT_RELEASE_RELAXED)
#undef release
#define release RELAXED_IN("give", rl::mo_release)
#elif defined(MUTANT_TAKE_BLINDLY)
#define compare_exchange_weak(expected, value, ...) exchange(value, rl::mo_acq_rel, $) != 77
#endif
#define private public  // so that a suite can play a green thread that never runs again
#include <weft/detail/semaphore_core.h>
#undef private
#undef compare_exchange_weak
#include "wait/semaphore_waiter.h"
#include "wait/wake_list.h"
#if defined(MUTANT_WAITING_FORGOTTEN)
#define empty() empty() || true
#elif defined(MUTANT_LOOKED_ONCE)
#define one (std::strcmp(__func__, "take") == 0 ? ~0U : one)
#elif defined(MUTANT_LOSER_SERVED)
#define pop_claimed() \
    front();          \
    if (w != nullptr) waiters_.remove(*w)
#elif defined(MUTANT_TIMEOUT_SERVED)
#define served timed_out
#elif defined(MUTANT_TOUCHED_AFTER_STORE)
#define wake() wake(), static_cast<void>(waiters_.empty())
#elif defined(MUTANT_ABANDONED_IGNORED)
#define semaphore_wait_abandoned ignored
#endif
#include "wait/semaphore.cc"
#undef empty
#undef one
#undef pop_claimed
#undef served
#undef wake
#undef semaphore_wait_abandoned

#include "sched/park.cc"
#include "wait/wait.cc"

#if defined(MUTANT_ABANDONED_IGNORED)
namespace weft::detail {
void semaphore_wait_abandoned(waiter& /*w*/) noexcept {}
}  // namespace weft::detail
#endif

namespace {

using namespace model;

// Like weft::counting_semaphore, whose functions have the names of memory orders. In a model these
// are macros.
struct semaphore : semaphore_core {
    explicit semaphore(uint32_t count) : semaphore_core(count) {}

    void take_one() {
        if (!try_take()) take(never);
    }

    bool take_until(int64_t deadline_ns) { return try_take() || take(deadline_ns); }

    void give_units(int64_t n = 1) { give(n, max_count); }
};

// With one unit: a mutex.
template <int Greens, int Plains, int Rounds>
struct exclusive : program<exclusive<Greens, Plains, Rounds>, Greens, Plains> {
    semaphore s{1U};
    guarded<int> count = 0;

    void run(unsigned) {
        for (int i = 0; i < Rounds; ++i) {
            s.take_one();
            ++count;
            s.give_units();
        }
    }

    void after() {
        RL_ASSERT(count == Rounds * (Greens + Plains));
        RL_ASSERT(s.try_take());
        RL_ASSERT(!s.try_take());
    }
};

// Two threads give one unit each. A third takes both and destroys the semaphore.
template <int Greens, int Plains>
struct completion : program<completion<Greens, Plains>, Greens, Plains> {
    static constexpr unsigned givers = Greens + Plains - 1;
    box<semaphore> s{0U};
    guarded<int> work[givers];

    completion() {
        for (auto& piece : work) piece = 0;
    }

    void run(unsigned me) {
        if (me != 0) {
            work[me - 1] = 1;
            s->give_units();
            return;
        }
        for (unsigned i = 0; i < givers; ++i) s->take_one();
        s.destroy();
        for (auto& piece : work) RL_ASSERT(piece == 1);
    }
};

// One unit for each of two waiters, given at once.
struct two_at_once : program<two_at_once, 1, 2> {
    semaphore s{0U};
    guarded<int> work = 0;

    void run(unsigned me) {
        if (me == 2) {
            work = 1;
            s.give_units(2);
            return;
        }
        s.take_one();
        RL_ASSERT(work == 1);
    }

    void after() { RL_ASSERT(!s.try_take()); }
};

// A deadline passes while the unit is given. The unit is taken in the end, and the semaphore is
// destroyed.
template <int Greens, int Plains>
struct deadline : program<deadline<Greens, Plains>, Greens, Plains> {
    box<semaphore> s{0U};
    guarded<int> work = 0;

    void run(unsigned me) {
        if (me == 0) {
            if (!s->take_until(some_time)) s->take_one();
            RL_ASSERT(work == 1);
            RL_ASSERT(!s->try_take());
            s.destroy();
        } else if (me == 1) {
            work = 1;
            s->give_units();
        } else {
            this->fire(0);
        }
    }
};

// One unit, a waiter that times out and a waiter without a deadline. The latter gets the unit,
// directly or when the former gives it back.
struct two_waiters_one_deadline : program<two_waiters_one_deadline, 1, 3> {
    semaphore s{0U};

    void run(unsigned me) {
        if (me == 0) {
            if (s.take_until(some_time)) s.give_units();
        } else if (me == 1) {
            s.take_one();
        } else if (me == 2) {
            s.give_units();
        } else {
            fire(0);
        }
    }

    void after() { RL_ASSERT(!s.try_take()); }
};

// The runtime of a waiter stops, while the waiter is queued or after it was handed the unit.
// Another thread takes the unit.
struct abandoned_waiter : program<abandoned_waiter, 0, 2> {
    semaphore s{0U};
    sleeper queued;

    void run(unsigned me) {
        if (me == 1) {
            never_runs_again();
            return;
        }
        queued.sleep();
        s.give_units();
        s.take_one();
    }

    void never_runs_again() {
        semaphore_core& core = s;
        G& g = gs[greens];
        g.state = g_state::waiting;
        semaphore_waiter w(&core, give_back);
        w.g = &g;
        const uint32_t bits = core.state_.lock_bits();
        core.waiters_.push_back(w);
        core.state_.unlock_bits(bits | semaphore_core::waiting);
        queued.call();
        // As unlink_waiter in src/lifecycle/start.cc does.
        const uint32_t now_bits = core.state_.lock_bits();
        const bool linked = w.queue != nullptr;
        if (linked) core.waiters_.remove(w);
        core.state_.unlock_bits(now_bits);
        if (linked) return;
        g.turn.sleep();  // the thread that served it is done with it
        semaphore_wait_abandoned(w);
    }

    void after() { RL_ASSERT(!s.try_take()); }
};

}  // namespace

int main() {
    const bool ok = check<exclusive<1, 1, 1>>("a green and a plain thread", switches(4)) &&             //
                    check<exclusive<0, 3, 2>>("three plain threads, twice", random(300'000)) &&         //
                    check<exclusive<2, 1, 2>>("two green and a plain, twice", random(500'000)) &&       //
                    check<completion<1, 1>>("a green thread takes, one gives", all) &&                  //
                    check<completion<0, 2>>("a plain thread takes, one gives", all) &&                  //
                    check<completion<1, 2>>("two give", switches(2)) &&                                 //
                    check<two_at_once>("two units at once", random(500'000)) &&                         //
                    check<deadline<1, 2>>("a deadline against a unit", switches(1)) &&                  //
                    check<deadline<1, 2>>("a deadline against a unit", random(500'000)) &&              //
                    check<deadline<0, 2>>("a plain thread's deadline", switches(2)) &&                  //
                    check<two_waiters_one_deadline>("two waiters, one deadline", random(1'000'000)) &&  //
                    check<abandoned_waiter>("a waiter that never runs again", switches(3));
    return ok ? 0 : 1;
}
