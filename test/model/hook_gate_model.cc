// hook_gate_model.cc: hooks that are called at switches while they are removed, and while others
// take their place. Each in has its out on the same M, and none is called after the removal.
//
// An M is a thread that runs green threads, one after the other. A hook is destroyed when it has
// been removed.
//
// mutants: ENTER_RELAXED CLOSE_RELAXED OUT_RELAXED REMOVED_AT_ONCE
#include "model.h"

#if defined(MUTANT_ENTER_RELAXED)
#undef seq_cst
#define seq_cst RELAXED_IN("enter", rl::mo_seq_cst)
#elif defined(MUTANT_CLOSE_RELAXED)
#undef seq_cst
#define seq_cst RELAXED_IN("close", rl::mo_seq_cst)
#elif defined(MUTANT_OUT_RELAXED)
#undef release
#define release RELAXED_IN("close_call", rl::mo_release)
#endif
#include "sched/hook_gate.h"
#if defined(MUTANT_REMOVED_AT_ONCE)
#define is_open(bits, bit) (static_cast<void>(bits), false)
#endif

namespace {

using namespace model;

constexpr uint32_t bit = 1;

template <unsigned Ms>
struct hook {
    guarded<uint32_t> ins[Ms];
    guarded<uint32_t> outs[Ms];

    hook() {
        for (unsigned i = 0; i < Ms; ++i) ins[i] = outs[i] = 0;
    }
};

// Each M runs Gs green threads. The remover puts Hooks hooks into the one place, one after the
// other.
template <typename Derived, unsigned Ms, unsigned Gs, unsigned Hooks>
struct suite : rl::test_suite<Derived, Ms + 1> {
    using a_hook = hook<Ms>;

    hook_gate gate;
    guarded<a_hook*> in_place = nullptr;  // as the functions of a place
    open_hooks open[Ms];
    box<a_hook> hooks[Hooks];

    suite() {
        for (auto& bits : open) bits.store(0, relaxed_alone);
    }

    void before() { take_place(0); }

    void thread(unsigned me) {
        if (me == Ms) return remove();
        for (unsigned i = 0; i < Gs; ++i) {
            if (gate.enter(open[me], bit)) ++called().ins[me];
            if (has_open(open[me], bit)) {
                a_hook& h = called();
                ++h.outs[me];
                RL_ASSERT(h.outs[me] == h.ins[me]);
                close_call(open[me], bit);
            }
        }
    }

    a_hook& called() { return *static_cast<a_hook*>(in_place); }

    void take_place(unsigned number) {
        RL_ASSERT(gate.is_vacant());
        in_place = &*hooks[number];
        gate.activate();
    }

    void remove() {
        for (unsigned i = 0; i < Hooks; ++i) {
            if (i != 0) take_place(i);
            gate.close();
            for (const auto& bits : open) {
                for (uint32_t round = 0; is_open(bits, bit); ++round) spin_backoff(round);
            }
            gate.vacate();
            for (unsigned m = 0; m < Ms; ++m) RL_ASSERT(hooks[i]->ins[m] == hooks[i]->outs[m]);
            hooks[i].destroy();
        }
    }

    void after() {
        for (const auto& bits : open) RL_ASSERT(bits.load(relaxed_alone) == 0);
    }
};

struct one_m : suite<one_m, 1, 2, 1> {};

struct two_ms : suite<two_ms, 2, 1, 1> {};

struct next_hook : suite<next_hook, 1, 2, 2> {};

struct two_ms_next_hook : suite<two_ms_next_hook, 2, 2, 2> {};

}  // namespace

int main() {
    const bool ok = check<one_m>("one M", all) && check<two_ms>("two Ms", switches(4)) &&
                    check<next_hook>("a hook after another", switches(4)) &&
                    check<two_ms_next_hook>("a hook after another, two Ms", random(200000));
    return ok ? 0 : 1;
}
