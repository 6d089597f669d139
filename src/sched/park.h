// park.h: making Gs runnable: the counterpart of wait(), in weft/detail/wait.h.
//
// See: docs/scheduling.md#where-a-g-goes, docs/priorities.md, docs/waiting.md
#pragma once

#include "os/probe.h"
#include "sched/scheduler.h"

namespace weft::detail {

// The ring of p is full: moves half of it and g to the global queue.
[[gnu::noinline]] void overflow(scheduler& s, P* p, G* g) noexcept;

// The push functions queue g, which is runnable, on m's P, in the runtime.
[[gnu::always_inline]] inline void push_ring(M* m, G* g) noexcept {
    scheduler& s = *m->home;
    if (!m->p->queue.push(g)) [[unlikely]]
        overflow(s, m->p, g);
    after_push(s, s.idle);
}

[[gnu::always_inline]] inline void push_run_next(M* m, G* g) noexcept {
    scheduler& s = *m->home;
    P* p = m->p;
    G* displaced = p->run_next.load(relaxed);  // relaxed: only we set it
    p->run_next.store(g, release);             // publishes g to thieves
    if (displaced != nullptr && !p->queue.push(displaced)) [[unlikely]]
        overflow(s, p, displaced);
    after_push(s, s.idle);
}

// As push_last or push_next, for Gs with a bit of special::queued_apart: priority_queues.h.
[[gnu::noinline]] void push_apart(M* m, G* g, bool next) noexcept;

[[gnu::always_inline]] inline void push_last(M* m, G* g) noexcept {
    WEFT_ASSERT(g->state.load(relaxed_own) == g_state::runnable);
    if ((g->special.load(relaxed) & special::queued_apart) != 0) [[unlikely]]  // relaxed: published with the G
        return push_apart(m, g, false);
    push_ring(m, g);
}

// g runs next, if its class is normal.
[[gnu::always_inline]] inline void push_next(M* m, G* g) noexcept {
    WEFT_ASSERT(g->state.load(relaxed_own) == g_state::runnable);
    if ((g->special.load(relaxed) & special::queued_apart) != 0) [[unlikely]]  // relaxed: published with the G
        return push_apart(m, g, true);
    push_run_next(m, g);
}

// Queues g, which is runnable, and ensures that an M runs it. Any thread that has pinned the
// scheduler: once g runs, its runtime may end.
void push_outside(G* g) noexcept;

// Ends g's wait. In the runtime; m is of g's scheduler.
[[gnu::always_inline]] inline void ready_g_inside(M* m, G* g) noexcept {
    WEFT_PROBE2(ready, g->id, m->index);
    g->set_state(g_state::waiting, g_state::runnable);
    push_next(m, g);
}

// As ready_g_inside, but at the end of the queue, because a timer that fires is no hand-off.
inline void ready_g_last(M* m, G* g, int64_t now_ns) noexcept {
    WEFT_PROBE2(ready, g->id, m->index);
    g->since_ns = now_ns;
    g->set_state(g_state::waiting, g_state::runnable);
    push_last(m, g);
}

// Ends g's wait from a thread without a P of its scheduler.
void ready_g_outside(G* g) noexcept;

// Fires at most timer_queue::steps_max due timers; if more are due, q.next_deadline() stays in the
// past. The Gs go to m's P. In the runtime. Returns the number fired.
uint32_t fire_timers(M* m, timer_queue& q, int64_t now_ns) noexcept;

// After the scheduler has stopped: removes all timers, and notifies those that end no wait.
void end_timers(timer_queue& q) noexcept;

}  // namespace weft::detail
