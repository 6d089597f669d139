// wait_group_model.cc: wait groups, and the count word that futures share with them.
//
// - No thread waits for a count that is zero.
// - What was done before done() is visible after wait().
// - The object may be destroyed as soon as the last wait has returned.
//
// weft/wait_group.h and src/wait/wait.cc are compiled as they are. The memory of a destroyed group
// is overwritten at once. The done() that ended the wait may not have returned by then.
//
// mutants: DECREMENT_RELAXED ADD_RELAXED STORE_RELAXED ZERO_RELAXED TOUCHED_AFTER_STORE UNLOCKED_LATE
// mutants: LOOKED_ONCE FORGOTTEN
#include <chrono>
#include <exception>
#include <source_location>
#include <string_view>

#include <weft/error.h>

#include "model.h"
#if defined(MUTANT_STORE_RELAXED)
#undef release
#define release RELAXED_IN("unlock_bits", rl::mo_release)
#endif
#include <weft/detail/wait.h>

#include "green.h"
#if defined(MUTANT_DECREMENT_RELAXED)
#undef acq_rel
#define acq_rel RELAXED_IN("decrement", rl::mo_acq_rel)
#elif defined(MUTANT_ADD_RELAXED)
#undef acq_rel
#define acq_rel RELAXED_IN("add_slow", rl::mo_acq_rel)
#elif defined(MUTANT_ZERO_RELAXED)
#undef acquire
#define acquire RELAXED_IN("wait", rl::mo_acquire)
#elif defined(MUTANT_TOUCHED_AFTER_STORE)
#define ready_all(chain) ready_all(chain), static_cast<void>(waiters_.empty())
#elif defined(MUTANT_UNLOCKED_LATE)
#define unlock_bits(bits) MUTATED_##bits
#define MUTATED_0 word()
#define MUTATED_bits unlock_bits(bits)
#define ready_all(chain) ready_all(chain), (state_.unlock_bits)(0)
#elif defined(MUTANT_LOOKED_ONCE)
#define lock_bits() lock_bits() | one
#elif defined(MUTANT_FORGOTTEN)
#define ready_all(chain) static_cast<void>(chain)
#endif
#include <weft/detail/count_word.h>
#undef ready_all
#undef unlock_bits
#undef lock_bits
#include <weft/wait_group.h>

#include "sched/park.cc"
#include "wait/wait.cc"

namespace weft::detail {

void fatal_count(int64_t /*count*/, int64_t /*change*/) noexcept { fatal("the count left its range"); }

void check_group_destroyed(uint32_t /*count*/, bool /*waited_on*/) noexcept { fatal("destroyed too early"); }

}  // namespace weft::detail

namespace {

using namespace model;
using weft::wait_group;

// Workers write something and call done(). The waiter sees what they wrote, and destroys the group.
template <int Greens, int Plains>
struct one_waiter : program<one_waiter<Greens, Plains>, Greens, Plains> {
    static constexpr unsigned workers = Greens + Plains - 1;
    box<wait_group> group;
    guarded<int> work[workers];

    one_waiter() {
        for (auto& piece : work) piece = 0;
        group->add(static_cast<int>(workers));
    }

    void run(unsigned me) {
        if (me == 0) {
            group->wait();
            group.destroy();
            for (auto& piece : work) RL_ASSERT(piece == 1);
        } else {
            work[me - 1] = 1;
            group->done();
        }
    }
};

// A green and a plain waiter, one worker. The last to return destroys the group.
struct two_waiters : program<two_waiters, 1, 2> {
    box<wait_group> group;
    guarded<int> work = 0;
    atomic<uint32_t> back{0};

    two_waiters() { group->add(); }

    void run(unsigned me) {
        if (me == 2) {
            work = 1;
            group->done();
            return;
        }
        group->wait();
        RL_ASSERT(work == 1);
        if (back.fetch_add(1, acq_rel) == 1) group.destroy();
    }
};

// A piece of work adds another one before it is done.
struct growing : program<growing, 1, 2> {
    box<wait_group> group;
    sleeper second;
    guarded<int> work = 0;

    growing() { group->add(); }

    void run(unsigned me) {
        if (me == 0) {
            group->wait();
            group.destroy();
            RL_ASSERT(work == 1);
        } else if (me == 1) {
            group->add();
            second.call();
            group->done();
        } else {
            second.sleep();
            work = 1;
            group->done();
        }
    }
};

// The same waiter uses the group again.
struct again : program<again, 1, 1> {
    box<wait_group> group;
    sleeper second;
    guarded<int> work = 0;

    again() { group->add(); }

    void run(unsigned me) {
        for (int round = 1; round <= 2; ++round) {
            if (me == 0) {
                group->wait();
                RL_ASSERT(work == round);
                if (round == 2) break;
                group->add();
                second.call();
            } else {
                if (round == 2) second.sleep();
                ++work;
                group->done();
            }
        }
        if (me == 0) group.destroy();
    }
};

// A wait for a future with a deadline, then one without.
struct deadline : program<deadline, 1, 2> {
    box<count_word> count;
    guarded<int> work = 0;

    deadline() { count->increment(); }

    void run(unsigned me) {
        if (me == 0) {
            if (count->wait_cancellable(wait_reason::future_get, some_time) != wait_result::served)
                count->wait(wait_reason::future_get);
            count.destroy();
            RL_ASSERT(work == 1);
        } else if (me == 1) {
            work = 1;
            count->decrement();
        } else {
            fire(0);
        }
    }
};

}  // namespace

int main() {
    const bool ok = check<one_waiter<1, 1>>("a green waiter, one worker", all) &&            //
                    check<one_waiter<0, 2>>("a plain waiter, one worker", all) &&            //
                    check<one_waiter<1, 2>>("a green waiter, two workers", switches(2)) &&   //
                    check<one_waiter<0, 3>>("a plain waiter, two workers", switches(2)) &&   //
                    check<one_waiter<2, 1>>("a green worker among two", random(300'000)) &&  //
                    check<two_waiters>("two waiters, one worker", random(1'000'000)) &&      //
                    check<growing>("work that adds work", random(300'000)) &&                //
                    check<again>("used twice", switches(2)) &&                               //
                    check<deadline>("a deadline, then without", random(500'000));
    return ok ? 0 : 1;
}
