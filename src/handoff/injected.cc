// injected.cc: see injected.h.
#include "handoff/injected.h"

#include <algorithm>

#include "sched/park.h"
#include "sched/priority_queues.h"

namespace weft::detail {

namespace {

// Asks one P: that of index first, or the next that an M holds.
void ask_one(scheduler& s, uint32_t first) noexcept {
    const uint32_t n = s.ps.reach();
    for (uint32_t i = 0; i < n; ++i) {
        if (request_reschedule(s.ps[(first + i) % n])) return;
    }
}

// A2.
void end_turn(P* p) noexcept {
    p->injected_due_ns = p->now_ns + (p->now_ns - p->injected_began_ns);
    p->injected_due = p->tick() + 1;
    p->injected_began_ns = 0;
    p->injected_look_after = 1;
}

// A3. The number of schedules to the next pass through g0 doubles each time.
void look_again_later(P* p) noexcept {
    const uint32_t left = p->injected_look_after + 1;
    if (p->ticks_left.load(relaxed_own) > left) p->restart_ticks(left);
    p->injected_look_after = std::min(2 * p->injected_look_after, P::global_every);
}

G* begin_turn(P* p, G* g) noexcept {
    if (g == nullptr) return nullptr;
    p->injected_began_ns = p->now_ns;
    p->restart_ticks(2);
    return g;
}

}  // namespace

bool request_reschedule(P& p) noexcept {
    uintptr_t word = p.owner.load(relaxed_cas);
    while (word != 0) {
        if ((word & attention::injected) != 0) return true;
        // acq_rel: the bit publishes what was queued; relaxed: tried again
        if (p.owner.compare_exchange_weak(word, word | attention::injected, acq_rel, relaxed)) return true;
    }
    return false;
}

void push_injected(G* g) noexcept {
    if (push_class_outside(g)) return;
    scheduler& s = *g->home;
    const uint32_t preferred = g->last_p;
    s.injected.push(g);                           // N1. g may run and be gone from here on
    wake_for_outside(s, preferred);               // N2, N3
    const bool all_run = s.idle.ps.count() == 0;  // N2
    if (all_run && s.injected.size() != 0) ask_one(s, preferred);
}

G* take_turn_of_injected(scheduler& s, P* p) noexcept {
    if (p->injected_began_ns != 0) end_turn(p);
    if (s.injected.size() == 0) return nullptr;
    if (p->now_ns >= p->injected_due_ns && p->tick() >= p->injected_due) return begin_turn(p, s.injected.pop());
    look_again_later(p);
    return nullptr;
}

G* take_any_injected(scheduler& s, P* p) noexcept { return begin_turn(p, s.injected.pop()); }

}  // namespace weft::detail
