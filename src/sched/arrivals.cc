// arrivals.cc: see arrivals.h.
#include "sched/arrivals.h"

#include <algorithm>

#include "sched/classes.h"
#include "sched/park.h"

namespace weft::detail {

namespace {

// Asks one P: that of index first, or the next that an M holds.
void ask_one(scheduler& s, uint32_t first) noexcept {
    const uint32_t n = s.ps.reach();
    for (uint32_t i = 0; i < n; ++i) {
        if (ask_to_look(s.ps[(first + i) % n])) return;
    }
}

// A2, after a schedule that ran an arrival.
void end_turn(P* p) noexcept {
    p->arrivals_due_ns = p->now_ns + (p->now_ns - p->arrival_began_ns);
    p->arrivals_due = p->tick() + 1;
    p->arrival_began_ns = 0;
    p->arrivals_look_after = 1;
}

// A3: goes through g0 again after a number of schedules, which doubles each time.
void look_again_later(P* p) noexcept {
    const uint32_t left = p->arrivals_look_after + 1;
    if (p->ticks_left.load(relaxed) > left) p->restart_ticks(left);  // relaxed: ours
    p->arrivals_look_after = std::min(2 * p->arrivals_look_after, P::global_every);
}

G* begin_turn(P* p, G* g) noexcept {
    if (g == nullptr) return nullptr;
    p->arrival_began_ns = p->now_ns;
    p->restart_ticks(2);
    return g;
}

}  // namespace

bool ask_to_look(P& p) noexcept {
    uintptr_t word = p.owner.load(relaxed);  // relaxed: the exchange decides
    while (word != 0) {
        if ((word & attention::arrival) != 0) return true;
        // acq_rel: the bit publishes what was queued; relaxed: tried again
        if (p.owner.compare_exchange_weak(word, word | attention::arrival, acq_rel, relaxed)) return true;
    }
    return false;
}

void push_arrival(G* g) noexcept {
    if (push_class_outside(g)) return;
    scheduler& s = *g->home;
    const uint32_t preferred = g->last_p;
    s.arrivals.push(g);                                           // N1. g may run and be gone from here on
    wake_for_outside(s, preferred);                               // N2, N3
    const bool all_run = s.idle.idle_p_count.load(relaxed) == 0;  // relaxed: N2
    if (all_run && s.arrivals.size() != 0) ask_one(s, preferred);
}

G* take_turn_of_arrivals(scheduler& s, P* p) noexcept {
    if (p->arrival_began_ns != 0) end_turn(p);
    if (s.arrivals.size() == 0) return nullptr;
    if (p->now_ns >= p->arrivals_due_ns && p->tick() >= p->arrivals_due) return begin_turn(p, s.arrivals.pop());
    look_again_later(p);
    return nullptr;
}

G* take_any_arrival(scheduler& s, P* p) noexcept { return begin_turn(p, s.arrivals.pop()); }

}  // namespace weft::detail
