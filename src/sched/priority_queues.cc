// priority_queues.cc: see priority_queues.h.
#include "sched/priority_queues.h"

#include <utility>

#include "handoff/injected.h"
#include "sched/park.h"

namespace weft::detail {

namespace {

// p passes through g0 again after one schedule.
void come_back_next_time(P* p) noexcept { p->restart_ticks(2); }

// Not to m's queues: other Gs on all Ps run first.
void push_preempted(M* m, G* g) noexcept {
    g->special.fetch_and(static_cast<uint16_t>(~special::preempted), relaxed);  // relaxed: ours, except for frozen
    push_shared(*m->home, g);
}

// Q3. g may have run since.
void leave_low_if_raised(shared_queue& low, G* g) noexcept {
    WEFT_FULL_FENCE();
    if ((g->special.load(relaxed) & special::low) != 0) return;  // relaxed: the fence
    if (low.take_if_short(g)) push_injected(g);
}

G* take_low(scheduler& s, P* p) noexcept {
    G* g = p->low.pop();
    return g != nullptr ? g : s.low.pop();
}

void begin_low_turns(P* p) noexcept {
    p->low_waits = true;
    p->low_due = p->tick() + P::low_every;
}

bool low_is_due(const scheduler& s, P* p) noexcept {
    if (p->low.size() == 0 && s.low.size() == 0) {
        p->low_waits = false;
        return false;
    }
    if (!p->low_waits) begin_low_turns(p);
    return p->tick() >= p->low_due;
}

// g has yielded, which its switch has recorded. Only finish_switch queues such a G, at the end.
bool is_requeued(const M& m, const G* g) noexcept {
    return m.after.what == after_switch::kind::requeue && m.after.g == g;
}

}  // namespace

void ask_to_hurry(P& p) noexcept {
    uintptr_t word = p.owner.load(relaxed_cas);
    // acq_rel: publishes what was queued with the bit; relaxed: tried again
    while (word != 0 && !p.owner.compare_exchange_weak(word, word | attention::preempt, acq_rel, relaxed)) {}
}

void push_shared(scheduler& s, G* g) noexcept {
    const uint16_t bits = g->special.load(relaxed);  // relaxed: published with the G
    shared_queue& q = (bits & special::high) != 0 ? s.high : (bits & special::low) != 0 ? s.low : s.global;
    q.push(g);
    after_push(s, s.idle);
}

void push_apart(M* m, G* g, bool next) noexcept {
    const uint16_t bits = g->special.load(relaxed);  // relaxed: published with the G
    if ((bits & special::preempted) != 0) return push_preempted(m, g);
    if ((bits & special::traced) != 0 && (next || !is_requeued(*m, g))) record_runnable(m, *g);
    if ((bits & ~unsigned{special::traced}) == 0) {
        if (next) return push_run_next(m, g);
        return push_ring(m, g);
    }
    if ((bits & special::shuffled) != 0 && m->home->simulated != nullptr) return m->home->simulated->push(g);
    P* p = m->p;
    if ((bits & (special::high | special::low)) == 0) {
        const bool is_shuffled = (bits & special::shuffled) != 0;
        if (next && (!is_shuffled || m->random.below(2) == 0)) {
            push_run_next(m, g);
        } else {
            push_ring(m, g);
        }
        return;
    }
    scheduler& s = *m->home;
    if ((bits & special::high) != 0) {
        p->high.push(g);
        p->end_ticks();
    } else {
        p->low.push(g);
        if (!p->low_waits) begin_low_turns(p);
        leave_low_if_raised(p->low, g);
    }
    after_push(s, s.idle);
}

bool push_class_outside(G* g) noexcept {
    const uint16_t bits = g->special.load(relaxed);  // relaxed: published with the G
    if ((bits & special::traced) != 0) record_runnable_outside(*g);
    if ((bits & (special::high | special::low)) == 0) return false;
    scheduler& s = *g->home;
    const uint32_t preferred = g->last_p;
    const bool high = (bits & special::high) != 0;
    (high ? s.high : s.low).push(g);  // g may run and be gone from here on
    if (!high) leave_low_if_raised(s.low, g);
    wake_for_outside(s, preferred);
    if (high) ask_to_hurry(s.ps[preferred]);
    return true;
}

void move_raised(scheduler& s, G* g, priority before) noexcept {
    const uint32_t n = s.ps.reach();
    bool found = false;
    if (before == priority::low) {
        found = s.low.take_if_short(g);
        for (uint32_t i = 0; i < n && !found; ++i) found = s.ps[i].low.take_if_short(g);
    } else {
        found = s.injected.take_if_short(g) || s.global.take_if_short(g);
    }
    if (found) {
        push_injected(g);
    } else if (before == priority::normal) {
        s.raised.fetch_add(1, release);  // C3. Pairs with move_raised_of
        for (uint32_t i = 0; i < n; ++i) ask_to_hurry(s.ps[i]);
    }
}

void move_raised_of(scheduler& s, M* m) noexcept {
    P* p = m->p;
    p->raised_seen = s.raised.load(acquire);                                                          // pairs with C3
    const auto is_high = [](const G* g) { return (g->special.load(relaxed) & special::high) != 0; };  // relaxed: C3
    G* next = p->run_next.load(relaxed_own);
    if (next != nullptr && is_high(next)) {
        p->run_next.store(nullptr, relaxed_own);
        p->high.push(next);
    }
    for (uint32_t left = p->queue.size(); left != 0; --left) {
        G* g = p->queue.pop();
        if (g == nullptr) break;
        if (is_high(g)) {
            p->high.push(g);
        } else {
            const bool fits = p->queue.push(g);
            WEFT_ASSERT(fits);  // there is room: we have popped one
        }
    }
    after_push(s, s.idle);  // a concurrent scan has not seen them
}

G* take_high(scheduler& s, P* p) noexcept {
    shared_queue* first = &p->high;
    shared_queue* second = &s.high;
    if (p->tick() % 2 != 0) std::swap(first, second);
    G* g = first->pop();
    if (g == nullptr) g = second->pop();
    if (g != nullptr) come_back_next_time(p);
    return g;
}

// A P that changes owners loses requests to hurry, hence the look at the scheduler's lists.
void keep_hurry(const scheduler& s, P* p) noexcept {
    const bool waited_for = s.high.size() != 0 || s.injected.size() != 0;
    if (p->ticks_left.load(relaxed_own) <= 1 || waited_for) come_back_next_time(p);
}

G* take_turn(scheduler& s, P* p) noexcept {
    if (p->high.size() != 0 || s.high.size() != 0) {
        if (p->high_left != 0) {
            --p->high_left;
            if (G* g = take_high(s, p)) return g;
        } else {
            p->high_left = P::high_in_a_row;
            come_back_next_time(p);
        }
    }
    if (low_is_due(s, p)) {
        begin_low_turns(p);
        if (G* g = take_low(s, p)) {
            come_back_next_time(p);  // the global queue may be due, too
            return g;
        }
    }
    return nullptr;
}

G* steal_high(P* p, P* victim) noexcept {
    const uint32_t there = victim->high.size();
    if (there == 0) return nullptr;
    fifo<G> batch = victim->high.pop(there - there / 2);
    G* g = batch.pop_front();
    if (g == nullptr) return nullptr;
    p->count.steals.add(1 + batch.size());
    if (batch.size() != 0) {
        p->high.push(batch);
        come_back_next_time(p);
    }
    return g;
}

G* take_any_low(scheduler& s, P* p) noexcept {
    G* g = take_low(s, p);
    const uint32_t n = s.ps.reach();
    for (uint32_t i = 1; g == nullptr && i <= n; ++i) g = s.ps[(p->index + i) % n].low.pop();
    if (g != nullptr) begin_low_turns(p);
    return g;
}

}  // namespace weft::detail
