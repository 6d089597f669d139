// park.cc: see park.h.
#include "sched/park.h"

#include "base/assert.h"
#include "base/generation.h"
#include "handoff/injected.h"
#include "sched/priority_queues.h"
#include "sched/switch.h"

namespace weft::detail {

void overflow(scheduler& s, P* p, G* g) noexcept {
    G* batch[run_queue::capacity / 2 + 1];
    const uint32_t taken = p->queue.pop_half(batch);
    if (taken == 0) {
        // A thief has made room.
        const bool fits = p->queue.push(g);
        WEFT_ASSERT(fits);
        return;
    }
    batch[taken] = g;
    fifo<G> spilled = link_ahead(batch, taken + 1);
    s.global.push(spilled);
    p->count.overflows.add();
}

void push_outside(G* g) noexcept {
    if (push_class_outside(g)) return;
    scheduler& s = *g->home;
    const uint32_t preferred = g->last_p;
    s.global.push(g);  // from here g may run and end
    wake_for_outside(s, preferred);
}

void ready_g_outside(G* g) noexcept {
    scheduler& s = *g->home;
    if (is_from_before_fork(s)) [[unlikely]]
        fatal_in_child("an object on which a green thread of the parent waits was");
    s.pin();  // until here, s lives because g waits
    g->since_ns = os::monotonic_ns();
    g->set_state(g_state::waiting, g_state::runnable);
    push_injected(g);
    s.unpin();
}

uint32_t fire_timers(M* m, timer_queue& q, int64_t now_ns) noexcept {
    timer* fired = nullptr;
    timer** link = &fired;
    uint32_t count = 0;
    uint32_t noticed = 0;
    unsigned steps = timer_queue::steps_max;
    q.lock.lock();
    while (timer* t = q.pop_due_locked(now_ns, steps)) {
        if (t->who != nullptr) {
            waiter& w = *t->who;
            bool must_ready = true;
            // L2: do not touch it again
            if (w.claim != nullptr && !w.claim->try_claim(claimed_by::deadline, must_ready)) continue;
            t->fired = true;
            if (!must_ready) {  // not parked yet; it will notice
                ++noticed;
                continue;
            }
        }
        *link = t;
        link = &t->next;
        ++count;
    }
    *link = nullptr;
    q.lock.unlock();

    m->p->count.timers_fired.add(count + noticed);  // before any of them runs and reads it
    while (fired != nullptr) {
        timer* t = fired;
        fired = t->next;
        // This may end the life of t and the frame it is in.
        if (t->who == nullptr) {
            t->fire(m, *t, now_ns);
        } else {
            ready_g_last(m, t->who->g, now_ns);
        }
    }
    leaves_timer();  // a periodic timer has been rearmed
    return count;
}

void end_timers(timer_queue& q) noexcept {
    for (;;) {
        q.lock.lock();
        timer* t = q.pop_any_locked();
        q.lock.unlock();
        if (t == nullptr) return;
        if (t->who == nullptr) t->fire(nullptr, *t, 0);
    }
}

}  // namespace weft::detail
