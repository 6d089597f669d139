// park.cc: see park.h.
#include "sched/park.h"

#include "base/assert.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

// The ring is full: half of it and g go to the global queue.
void overflow(scheduler& s, P* p, G* g) noexcept {
    G* half[run_queue::capacity / 2];
    const uint32_t taken = p->queue.pop_half(half);
    if (taken == 0) {
        // A thief has made room.
        const bool fits = p->queue.push(g);
        WEFT_ASSERT(fits);
        return;
    }
    fifo<G> batch;
    for (uint32_t i = 0; i < taken; ++i) batch.push_back(half[i]);
    batch.push_back(g);
    s.global.push(batch);
    p->count.overflows.add();
}

void append(M* m, G* g) noexcept {
    if (!m->p->queue.push(g)) [[unlikely]] overflow(*m->home, m->p, g);
}

}  // namespace

void push_next(M* m, G* g) noexcept {
    WEFT_ASSERT(g->state.load(relaxed) == g_state::runnable);  // relaxed: ours
    G* displaced = m->p->run_next.exchange(g, acq_rel);        // publishes g to thieves; a displaced G is ours
    if (displaced != nullptr) append(m, displaced);
    after_push(*m->home, m->home->idle);
}

void push_last(M* m, G* g) noexcept {
    WEFT_ASSERT(g->state.load(relaxed) == g_state::runnable);  // relaxed: ours
    append(m, g);
    after_push(*m->home, m->home->idle);
}

void push_outside(G* g) noexcept {
    scheduler& s = *g->home;
    const uint32_t preferred = g->last_p;
    s.global.push(g);  // from here on g may run, and be gone
    wake_for_outside(s, preferred);
}

void ready_g_inside(M* m, G* g) noexcept {
    g->set_state(g_state::waiting, g_state::runnable);
    push_next(m, g);
}

void ready_g(G* g) noexcept {
    M* m = current_g_m();
    if (m != nullptr && m->home == g->home) {
        enter(m);
        g->since_ns = m->p->now_ns;
        ready_g_inside(m, g);
        leave(m);
        return;
    }
    g->set_state(g_state::waiting, g_state::runnable);
    push_outside(g);
}

uint32_t fire_timers(M* m, timer_queue& q, int64_t now_ns) noexcept {
    timer* fired = nullptr;
    timer** link = &fired;
    q.lock.lock();
    while (timer* t = q.pop_due_locked(now_ns)) {
        waiter& w = *t->who;
        w.must_ready = true;
        if (w.claim != nullptr && !w.claim->try_claim(w.must_ready)) continue;  // L2: not touched again
        t->fired = true;
        if (!w.must_ready) continue;  // still on its way to sleep; it will notice
        *link = t;
        link = &t->sibling;
    }
    *link = nullptr;
    q.lock.unlock();

    uint32_t count = 0;
    while (fired != nullptr) {
        timer* t = fired;
        fired = t->sibling;
        G* g = t->who->g;
        g->since_ns = now_ns;
        g->set_state(g_state::waiting, g_state::runnable);
        push_last(m, g);  // t and its frame may be gone from here on
        ++count;
    }
    m->p->count.timers_fired.add(count);
    return count;
}

}  // namespace weft::detail
