// simulation.cc: see simulation.h.
#include "sched/simulation.h"

#include <weft/detail/wait.h>

#include "base/assert.h"
#include "sched/park.h"
#include "sched/schedule.h"
#include "sched/simulated_runtimes.h"
#include "sched/switch.h"

namespace weft::detail {

constinit atomic<uint32_t> simulations{0};

namespace {

simulation* simulation_of(const M* m) noexcept {
    if (m == nullptr || m->g == nullptr || !m->g->is_simulated()) return nullptr;
    return m->home->simulated;
}

}  // namespace

void begin_simulation(simulation& sim) noexcept {
    M* m = current_m();
    scheduler& s = *m->home;
    WEFT_ASSERT(s.simulated == nullptr && s.ps.alive() == 1);
    sim.only_m = m;
    s.simulated = &sim;
    s.g_flags.fetch_or(special::shuffled, relaxed_alone);
    m->g->special.fetch_or(special::shuffled, relaxed);  // relaxed: ours, except for frozen
    simulations.fetch_add(1, relaxed);                   // relaxed: other threads need not see it
}

void end_simulation(simulation& sim) noexcept {
    M* m = current_m();
    scheduler& s = *m->home;
    WEFT_ASSERT(s.simulated == &sim && sim.only_m == m);
    simulations.fetch_sub(1, relaxed);  // relaxed: as above
    s.g_flags.fetch_and(static_cast<uint16_t>(~special::shuffled), relaxed_alone);
    m->g->special.fetch_and(static_cast<uint16_t>(~special::shuffled), relaxed);  // relaxed: as above
    s.simulated = nullptr;
}

simulation* controlling() noexcept { return simulation_of(current_m()); }

int64_t simulated_or_real_ns() noexcept {
    const M* m = current_m();
    const simulation* sim = m == nullptr ? nullptr : m->home->simulated;
    return sim == nullptr ? os::monotonic_ns() : sim->now_ns;
}

uint32_t fire_simulated(M* m) noexcept {
    P* p = m->p;
    p->now_ns = m->home->simulated->now_ns;
    return p->timers.next_deadline() <= p->now_ns ? fire_timers(m, p->timers, p->now_ns) : 0;
}

void ready_simulated(M* m, G* g) noexcept {
    const bool has_p = enter(m);
    WEFT_ASSERT(has_p);  // S1
    g->since_ns = m->p->now_ns;
    ready_g_inside(m, g);
    leave(m);
}

void ready_simulated(M* m, waiter* chain) noexcept {
    const bool on_g0 = current_g_m() == nullptr;
    while (chain != nullptr) {
        G* g = chain->g;
        chain = chain->next;
        if (on_g0) {
            ready_g_last(m, g, m->p->now_ns);
        } else {
            ready_simulated(m, g);
        }
    }
}

void take_step(operation what, const void* object) noexcept {
    M* m = current_m();
    simulation* sim = simulation_of(m);
    if (sim != nullptr && sim->replaces(m->g, what, object)) requeue(m);
}

void note_end(const void* object) noexcept {
    if (simulation* sim = controlling()) sim->object_ends(object);
}

void note_done(operation what, const void* object) noexcept {
    if (simulation* sim = controlling()) sim->has_done(what, object);
}

bool stop_is_for_caller(const M* m) noexcept {
    simulation* sim = m->home->simulated;
    if (sim == nullptr) return true;
    const simulated_runtimes* runtimes = sim->runtimes();
    return runtimes != nullptr && runtimes->stops_caller();
}

void let_time_pass() noexcept {
    simulation* sim = controlling();
    if (sim != nullptr && sim->passes_time()) take_step(operation::yield, nullptr);
}

void requeue(M* m) noexcept {
    const bool has_p = enter(m);
    WEFT_ASSERT(has_p);  // S1
    m->after.what = after_switch::kind::requeue;
    m->after.g = m->g;
    m = switch_g_to_g0(m, m->g, false);
    finish_switch(m);
    leave(m);
}

}  // namespace weft::detail
