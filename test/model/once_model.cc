// once_model.cc: call_once.
//
// - One call runs at a time, and at most one succeeds.
// - No caller returns before that, or sleeps for ever. Each sees what the call did.
// - The flag may be destroyed as soon as all callers have returned.
//
// weft/once.h, src/sync/once.cc and src/wait/wait.cc are compiled as they are.
//
// mutants: DONE_RELAXED STORE_RELAXED LOCK_BITS_RELAXED LOOKED_ONCE FORGOTTEN FAILURE_KEPT TOUCHED_AFTER_STORE
#include "model.h"

#if defined(MUTANT_LOCK_BITS_RELAXED)
#undef acquire
#define acquire RELAXED_IN("lock_bits", rl::mo_acquire)
#elif defined(MUTANT_STORE_RELAXED)
#undef release
#define release RELAXED_IN("unlock_bits", rl::mo_release)
#elif defined(MUTANT_TOUCHED_AFTER_STORE)
#undef release
#define release rl::mo_release, $), static_cast<void>(word_.load(rl::mo_relaxed, $)
#endif
#include <weft/detail/spin_lock.h>
#undef acquire
#undef release
#define acquire rl::mo_acquire, $
#define release rl::mo_release, $
#include <weft/detail/wait.h>

#include "green.h"
#if defined(MUTANT_DONE_RELAXED)
#undef acquire
#define acquire RELAXED_IN("is_done", rl::mo_acquire)
#endif
#include <weft/once.h>
#if defined(MUTANT_LOOKED_ONCE)  // a woken waiter does not check whether the call has succeeded
#define wait(...)      \
    wait(__VA_ARGS__); \
    return false
#elif defined(MUTANT_FORGOTTEN)
#define ready_all(chain) static_cast<void>(chain)
#elif defined(MUTANT_FAILURE_KEPT)
#define unlock_bits(bits) unlock_bits((bits) == 0 && std::strcmp(__func__, "end") == 0 ? done : bits)
#endif
#include "sync/once.cc"
#undef wait
#undef ready_all
#undef unlock_bits

#include "sched/park.cc"
#include "wait/wait.cc"

namespace weft::detail {

owner current_owner() noexcept {
    static const char each[16] = {};
    const unsigned me = rl::ctx().current_thread();
    return {&each[me], me + 1};
}

}  // namespace weft::detail

namespace {

using namespace model;

// Each thread calls once. The first Failures calls fail. The last thread to return destroys the
// flag.
template <int Greens, int Plains, int Failures>
struct calling : program<calling<Greens, Plains, Failures>, Greens, Plains> {
    box<weft::once_flag> flag;
    guarded<int> calls = 0;
    guarded<int> value = 0;
    atomic<uint32_t> back{0};

    void run(unsigned) {
        struct failure {};

        bool failed = false;
        try {
            weft::call_once(*flag, [&] {
                ++calls;
                if (calls <= Failures) throw failure();
                RL_ASSERT(value == 0);
                value = 42;
            });
        } catch (const failure&) {
            failed = true;
        }
        if (!failed) {
            RL_ASSERT(value == 42);
        }
        if (back.fetch_add(1, acq_rel) + 1 == this->threads) flag.destroy();
    }

    void after() { RL_ASSERT(calls == Failures + 1); }
};

}  // namespace

int main() {
    const bool ok = check<calling<1, 1, 0>>("a green and a plain thread", switches(4)) &&
                    check<calling<1, 1, 1>>("a green and a plain thread, one failure", switches(4)) &&
                    check<calling<0, 3, 0>>("three plain threads", random(500'000)) &&
                    check<calling<2, 1, 0>>("two green and a plain thread", random(500'000)) &&
                    check<calling<2, 1, 1>>("two green and a plain thread, one failure", random(500'000)) &&
                    check<calling<1, 2, 2>>("a green and two plain threads, two failures", random(500'000));
    return ok ? 0 : 1;
}
