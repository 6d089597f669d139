// run_queue_model.cc: the ring of a P between its owner and thieves. Every G is taken once, by one
// of them.
//
// Gs are checked variables. A G that runs twice, or before the writes of its pusher are visible, is
// a data race or a failed assertion. A lost G is missing at the end.
//
// mutants: PUSH_RELAXED STEAL_RELAXED BATCH_RELAXED POP_BLINDLY STEAL_BLINDLY
#include <weft/detail/atomic.h>

#include "model.h"

namespace weft::detail {

struct G {
    guarded<int> prepared = 0;
    guarded<int> runs = 0;

    void run() {
        RL_ASSERT(prepared == 1);
        RL_ASSERT(runs == 0);
        ++runs;
    }
};

}  // namespace weft::detail

#if defined(MUTANT_PUSH_RELAXED)
#undef release
#define release RELAXED_IN("push", rl::mo_release)
#elif defined(MUTANT_STEAL_RELAXED)
#undef acquire
#define acquire RELAXED_IN("steal_from", rl::mo_acquire)
#elif defined(MUTANT_BATCH_RELAXED)
#undef release
#define release RELAXED_IN("steal_from", rl::mo_release)
#elif defined(MUTANT_POP_BLINDLY)
#define compare_exchange_weak(expected, value, ...) exchange(value, rl::mo_acq_rel, $) && false
#elif defined(MUTANT_STEAL_BLINDLY)
#define compare_exchange_strong(expected, value, ...) exchange(value, rl::mo_acq_rel, $) && false
#endif
#include "sched/run_queue.h"
#undef compare_exchange_weak
#undef compare_exchange_strong

namespace {

using namespace model;

template <typename Derived, int Threads, int Gs>
struct suite : rl::test_suite<Derived, Threads> {
    run_queue queue[Threads];  // number 0: the victim
    G gs[Gs];

    void push(int n) {
        gs[n].prepared = 1;
        const bool fits = queue[0].push(&gs[n]);
        RL_ASSERT(fits);
    }

    void pop_all(unsigned owner) {
        while (G* g = queue[owner].pop()) g->run();
    }

    void steal(unsigned thief, unsigned victim) {
        uint32_t count = 0;
        if (G* g = queue[thief].steal_from(queue[victim], count)) {
            RL_ASSERT(count >= 1 && count <= run_queue::capacity);
            g->run();
        }
    }

    void after() {
        for (G& g : gs) RL_ASSERT(g.runs == 1);
    }
};

// One thief, one G each way.
struct one_g : suite<one_g, 2, 1> {
    void thread(unsigned me) {
        if (me == 0) {
            push(0);
            pop_all(0);
        } else {
            steal(me, 0);
        }
    }
};

struct one_thief : suite<one_thief, 2, 3> {
    void thread(unsigned me) {
        if (me == 0) {
            for (int i = 0; i < 3; ++i) push(i);
            pop_all(0);
        } else {
            steal(me, 0);
            pop_all(me);
        }
    }
};

struct two_thieves : suite<two_thieves, 3, 3> {
    void thread(unsigned me) {
        if (me == 0) {
            for (int i = 0; i < 3; ++i) push(i);
            pop_all(0);
        } else {
            steal(me, 0);
            pop_all(me);
        }
    }
};

// The second thief steals from the first one.
struct thief_of_thief : suite<thief_of_thief, 3, 4> {
    void thread(unsigned me) {
        if (me == 0) {
            for (int i = 0; i < 4; ++i) push(i);
            pop_all(0);
        } else {
            steal(me, me - 1);
            pop_all(me);
        }
    }
};

// The ring becomes full and wraps around. Half of it moves out when a G does not fit.
struct overflow : suite<overflow, 3, 7> {
    void thread(unsigned me) {
        if (me == 0) {
            for (int i = 0; i < 7; ++i) {
                gs[i].prepared = 1;
                while (!queue[0].push(&gs[i])) {
                    G* half[run_queue::capacity / 2];
                    const uint32_t taken = queue[0].pop_half(half);
                    RL_ASSERT(taken == 0 || taken == run_queue::capacity / 2);
                    for (uint32_t n = 0; n < taken; ++n) half[n]->run();
                }
            }
            pop_all(0);
        } else {
            steal(me, 0);
            pop_all(me);
            steal(me, 0);
            pop_all(me);
        }
    }
};

}  // namespace

int main() {
    const bool ok = check<one_g>("one G, one thief", all) &&                         //
                    check<one_thief>("three Gs, one thief", switches(4)) &&          //
                    check<two_thieves>("three Gs, two thieves", switches(2)) &&      //
                    check<two_thieves>("three Gs, two thieves", random(300'000)) &&  //
                    check<thief_of_thief>("a thief robbed", random(300'000)) &&      //
                    check<overflow>("a full ring, two thieves", random(300'000));
    return ok ? 0 : 1;
}
