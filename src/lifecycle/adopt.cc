// adopt.cc: see adopt.h for the steps.
#include "lifecycle/adopt.h"

#include <memory>
#include <new>
#include <utility>

#include <weft/detail/locals.h>

#include "base/assert.h"
#include "lifecycle/fork.h"
#include "lifecycle/start.h"
#include "lifecycle/stopping.h"
#include "os/os.h"
#include "per_g/inheritance.h"
#include "per_g/labels.h"
#include "sched/schedule.h"
#include "sched/spawn.h"
#include "sched/switch.h"
#include "sched/switch_hooks.h"

namespace weft::detail {

namespace {

constexpr std::size_t g0_stack_size = 1024 * 1024;

// Used by the main G, or by M0 for it.
struct adopted {
    struct stack own;  // record of the thread's stack
    scheduler* s = nullptr;
    scheduler* default_before = nullptr;
    M* m0 = nullptr;
    G* g = nullptr;
    guarded_word leaving;  // held from the request to stop until the main G's context is saved
};

constinit adopted* the_one = nullptr;  // guarded by claim_main

// Never called: the main G already runs.
constexpr entry_type main_entry = {[](void*) {}, [](void*) noexcept {}, 1, 1};

}  // namespace

void forget_adopted_thread() noexcept { the_one = nullptr; }

namespace {

// The only function on the stack of M0's g0.
void g0_main(void* argument, void* baton) {
    adopted& a = *static_cast<adopted*>(argument);
    M* m = static_cast<M*>(baton);
    arrive_on_stack(m->g0_fiber);
    a.g->set_state(g_state::dead, g_state::runnable);
    m->p->now_ns = os::monotonic_ns();
    a.g->since_ns = m->p->now_ns;
    m->picked = a.g;  // as in run_main
    schedule_loop(m);
    a.leaving.lock_bits();  // step 3 of the end
    a.leaving.unlock_bits(0);
    WEFT_ASSERT(a.g->state.load(relaxed) == g_state::waiting);  // relaxed: read under the lock
    leave_g0(m, a.g);
}

void prepare_stacks(adopted& a) {
    int error = 0;
    struct stack* g0 = a.s->stacks.take_large(a.s->stacks.class_for(g0_stack_size, 1), error);
    if (g0 == nullptr) {
        throw resource_exhausted(std::error_code(error, std::generic_category()),
                                 "weft: no memory for the stack of the scheduler");
    }
    g0->sanitizers.begin_g();
    const void* low = nullptr;
    std::size_t size = 0;
    if ((error = os::thread_stack_bounds(low, size)) != 0) {
        throw resource_exhausted(std::error_code(error, std::generic_category()),
                                 "weft: cannot read the bounds of the calling thread's stack");
    }
    a.own.low = static_cast<std::byte*>(const_cast<void*>(low));  // NOLINT: it is the caller's own
    a.own.end = a.own.low + size;
    a.own.guard = guard_kind::protection;
    a.own.owner = a.g;
    a.g->stack = &a.own;
    run_context_init(&a.m0->g0, g0->top(), &g0_main, &a);
    a.m0->g0_fiber = g0->sanitizers;
}

}  // namespace

void begin_on_this_stack(const runtime_options& options, source_location where) {
    auto a = std::make_unique<adopted>();
    try {
        a->s = make_scheduler(options);
        a->m0 = make_m(*a->s);
        if (a->m0 == nullptr) throw std::bad_alloc();
        a->m0->is_main = true;
        a->s->is_mains = true;
        const bool fits = enlist(*a->s, a->m0);
        WEFT_ASSERT(fits);
        const spawn_options named{.name = "main"};
        a->g = spawn_begin(a->s, &named, main_entry, where).g;
        a->s->unpin();  // as spawn_commit would
        prepare_stacks(*a);
    } catch (...) {
        if (a->s != nullptr) destroy(a->s);
        throw;
    }
    the_one = a.get();
    a->default_before = exchange_default(a->s);
    a->s->external_spawns.fetch_add(1, relaxed_count);

    M* m = a->m0;
    const fiber g0_fiber = m->g0_fiber;
    begin_internals();
    adopt_thread(m);
    a->own.sanitizers = std::exchange(m->g0_fiber, g0_fiber);
    acquire_first_p(*a->s, m);
    m = switch_g_to_g0(m, a.release()->g, false);
    finish_switch(m);
    leave(m);
}

bool is_on_own_stack(const G* g) noexcept { return g->stack != nullptr && g->stack->end != nullptr; }

namespace {

// Steps 1 to 5 of the end.
void leave_this_stack(adopted& a) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {  // g0 releases a.leaving
    end_locals();                                                            // while other Gs run
    drop_labels(*a.g);
    if ((a.g->traits & trait::recorded) != 0) drop_record(*a.g);
    a.leaving.lock_bits();
    exchange_default(a.default_before);  // as in run_main
    request_stop(*a.s);
    M* m = current_m();
    const bool has_p = enter(m);
    a.g->reason = wait_reason::none;
    m->after = {after_switch::kind::park, 0, {&a.leaving}, nullptr, a.g};
    if (!has_p) m->p = nullptr;
    m = switch_g_to_g0(m, a.g, false);

    WEFT_ASSERT(m == a.m0);
    call_hooks_out(m, *a.g);  // it does not leave by a switch
    m->g = nullptr;
    a.g->set_state(g_state::running, g_state::dead);
    abandon_thread(m);
    end_internals();
}

// Until its scheduler has ended, other threads may read the G.
bool free_if_ended(adopted* a, bool ended) noexcept {
    if (ended) delete a;
    return ended;
}

}  // namespace

bool end_on_this_stack() noexcept {
    adopted* a = std::exchange(the_one, nullptr);
    leave_this_stack(*a);
    return free_if_ended(a, finish_main(a->s));
}

bool end_on_this_stack_by(int64_t deadline_ns, stop_outcome& done) noexcept {
    adopted* a = the_one;
    const uint64_t finished = finished_gs(*a->s);
    done.cancelled = cancel_and_drain(*a->s, a->g, deadline_ns);
    the_one = nullptr;
    leave_this_stack(*a);
    const bool ended = finish_stop(a->s, finished, done);
    if (ended) destroy(a->s);
    return free_if_ended(a, ended);
}

}  // namespace weft::detail
