// g_main.cc: see g_main.h.
#include "sched/g_main.h"

#include "base/generation.h"
#include "context/stack_bounds.h"
#include "handoff/preempt.h"
#include "per_g/big_stack.h"
#include "per_g/inheritance.h"
#include "per_g/labels.h"
#include "per_g/spawn_resources.h"
#include "sched/fork_list.h"
#include "sched/scheduler.h"
#include "sched/simulation.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

// F4 of weft/detail/fork_frame.h.
[[noreturn, gnu::cold, gnu::noinline]] void fatal_fork_left() noexcept {
    fatal(
        "a weft::forked outlived its green thread; join it in the green thread that made it, and do not suspend a "
        "coroutine between fork and join");
}

// The caller, g, has returned from its function. Called outside of the runtime.
[[gnu::noinline]] void end_slowly(G* g) noexcept {
    if (current_m() == nullptr) fatal("%s", returned_in_child);
    if ((g->traits & trait::marked) != 0) end_interruptible(current_m());
    destroy_locals();
    drop_labels(*g);
    if ((g->traits & trait::recorded) != 0) drop_record(*g);
    if (!g->closure_is_inline()) free_closure(*g->entry, g->closure());
}

// No exception leaves a simulated G: it is a result of the test. Otherwise none is caught here, so
// that a report shows where it was thrown. After a failure, g may run for a moment without the
// simulation, which has ended.
[[gnu::noinline]] void run_simulated(G* g) {
    try {
        g->entry->run(g->closure());
    } catch (const runtime_stopped&) {
        if (!g->home->cancelling.load(relaxed)) throw;  // as in g_main
        g->entry->destroy(g->closure());
    } catch (...) {
        if (simulation* sim = current_simulation()) sim->failed(g);
        g->entry->destroy(g->closure());
    }
    if (g->stack->forks != nullptr) fatal_fork_left();
    if ((g->traits & trait::ends_slowly) != 0) end_slowly(g);
    g->traits &= static_cast<uint8_t>(~trait::ends_slowly);
    if (simulation* sim = current_simulation()) sim->ended(g);
}

}  // namespace

// Nothing, on most systems.
[[gnu::always_inline]] static inline void tell_bounds_of([[maybe_unused]] const struct stack& s) noexcept {
    // relaxed: only the owner's faults change it
    if constexpr (knows_stack_bounds) tell_stack_bounds(s.low + s.uncommitted.load(relaxed), s.high());
}

void g_main(void* argument, void* baton) {
    G* g = static_cast<G*>(argument);
    M* m = static_cast<M*>(baton);
    arrive_on_stack(g->stack->sanitizers);
    tell_bounds_of(*g->stack);
    tell_acquired(&g->state);  // what the thread that started it has done
    tell_acquired(&g->id);     // and the one that made it, if that is another
    finish_switch(m);
    for (;;) {
        leave(m);
        try {
            if (current_simulation() != nullptr) [[unlikely]] {
                run_simulated(g);
            } else {
                g->entry->run(g->closure());
            }
        } catch (const runtime_stopped&) {
            if (!g->home->cancelling.load(relaxed)) throw;  // another runtime's. relaxed: set before ours was thrown
            g->entry->destroy(g->closure());
        }
        if (g->stack->forks != nullptr) [[unlikely]]
            fatal_fork_left();
        if ((g->traits & trait::ends_slowly) != 0) [[unlikely]]
            end_slowly(g);
        m = current_m();  // read again: g may have migrated
        g = exit_g(m);
    }
}

}  // namespace weft::detail

// Does not unwind. The stack may be one that the user created for a context.
extern "C" void run_g_exit(void) {
    using namespace weft::detail;
    M* m = current_g_m();
    if (m == nullptr)
        fatal(
            "run_g_exit() was called, or a context's entry function returned, in a plain thread; switch to another "
            "context instead");
    G* g = m->g;
    if (g->entry->end_early == nullptr) {
        fatal(
            "run_g_exit() was called, or a context's entry function returned, in a green thread that was not started "
            "from C; return from its function instead");
    }
    g->entry->end_early(g->closure());
    if (fork_list_of(*g) != nullptr) fatal_fork_left();
    if ((g->traits & trait::ends_slowly) != 0) end_slowly(g);
    if (simulation* sim = current_simulation()) sim->ended(g);
    give_continued_back(*g);
    m = current_m();
    // We do not return to g_main, so the next G starts at the top of the stack.
    g = exit_g(m);
    m->after.what = after_switch::kind::nothing;
    run_context_init(&g->context, g->stack->top(), &g_main, g);
    run_context_t nowhere;
    leave_context(&nowhere, &g->context, m);
}
