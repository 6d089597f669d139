// park.h: making Gs runnable: the counterpart of wait(), in weft/detail/wait.h.
//
// Where a G is queued:
//     started or made ready by a G of its runtime     run_next of that P; the displaced G to the ring's tail
//     yields                                          its P's ring, tail
//     started externally                              the global queue; an idle P is woken
//     made ready externally, or returns from a call   the injected queue; an idle P is woken, or a running one is
//     without a P                                     asked to look there: injected.h
//     does not fit the ring                           with half of the ring to the global queue
//     class other than normal                         the class's queue, of the P or, externally, of the scheduler
//
// See: docs/waiting.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// The ring is full: moves half of it and g to the global queue.
[[gnu::noinline]] void overflow(scheduler& s, P* p, G* g) noexcept;

// The push functions queue g, which is runnable, on m's P, in the runtime. push_ring: at the end of
// the ring.
[[gnu::always_inline]] inline void push_ring(M* m, G* g) noexcept {
    scheduler& s = *m->home;
    if (!m->p->queue.push(g)) [[unlikely]]
        overflow(s, m->p, g);
    after_push(s, s.idle);
}

// Puts g into run_next.
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

// Puts g behind all others.
[[gnu::always_inline]] inline void push_last(M* m, G* g) noexcept {
    WEFT_ASSERT(g->state.load(relaxed) == g_state::runnable);                  // relaxed: ours
    if ((g->special.load(relaxed) & special::queued_apart) != 0) [[unlikely]]  // relaxed: published with the G
        return push_apart(m, g, false);
    push_ring(m, g);
}

// Puts g where it runs next, if its class is normal.
[[gnu::always_inline]] inline void push_next(M* m, G* g) noexcept {
    WEFT_ASSERT(g->state.load(relaxed) == g_state::runnable);                  // relaxed: ours
    if ((g->special.load(relaxed) & special::queued_apart) != 0) [[unlikely]]  // relaxed: as above
        return push_apart(m, g, true);
    push_run_next(m, g);
}

// Puts g, which is runnable, on its scheduler's global queue and ensures that an M runs it. Any
// thread that has pinned the scheduler: once g runs, its runtime may end.
void push_outside(G* g) noexcept;

// Ends g's wait; g runs next on m's P. In the runtime; m is of g's scheduler.
[[gnu::always_inline]] inline void ready_g_inside(M* m, G* g) noexcept {
    g->set_state(g_state::waiting, g_state::runnable);
    push_next(m, g);
}

// As ready_g_inside, but at the end of the queue: a timer that fires is no hand-off by a running G.
// now_ns: the clock, just read.
inline void ready_g_last(M* m, G* g, int64_t now_ns) noexcept {
    g->since_ns = now_ns;
    g->set_state(g_state::waiting, g_state::runnable);
    push_last(m, g);
}

// Ends g's wait from a thread that is no M of its scheduler.
void ready_g_outside(G* g) noexcept;

// Fires due timers of q, at most timer_queue::steps_max; if more are due, q.next_deadline() stays
// in the past. The woken Gs go to m's P. In the runtime. Returns the number fired.
uint32_t fire_timers(M* m, timer_queue& q, int64_t now_ns) noexcept;

// After the scheduler has stopped: removes all timers, and notifies those that end no wait.
void end_timers(timer_queue& q) noexcept;

}  // namespace weft::detail
