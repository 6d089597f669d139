// schedule.h: what an M runs next.
//
// The order, pinned by a test:
//
//   1  timers of the own P that are due             4  the own ring
//   2  an arrival, if it is its turn; every 61st     5  a batch from the global queue; any arrival
//      time, and at the end of a time slice: ready   6  ready I/O, if nobody sleeps in the poller
//      I/O, one G from the global queue              7  half of another P's ring; the last of four rounds also
//   3  run_next; at the end of a slice the ring         fires others' due timers and takes a stale run_next
//
// then the M goes to sleep by the protocol of idle.h and starts again at 1.
//
// Time slices. run_next makes hand-offs fast, but a pair that wakes each other through it would starve the ring. So a G that comes from
// run_next inherits the time slice of the G that ran before it: the P counts such schedules, and P::slice() is the number of the others.
// The end of a slice that several Gs share is noticed in two ways:
//
//   S1  by g0, which passes by every 61 schedules at the latest: it saw the same slice slice_ns before
//   S2  by the monitor, for Gs that compute for longer in between. While others are queued it asks the G that runs to yield, as at the end of
//       any slice (preempt.h), by which its next switch goes through g0. It takes the P only from a G that has run for a slice by itself.
//
// Then a G of the global queue or the ring runs, and what is in run_next goes to the tail of the ring: so of several chains of
// hand-offs on one P each has a slice in turn. A G that yields at the end of a slice, or is made to, is queued after what it leaves in
// run_next. If nothing is queued, the chain goes on with a slice of its own; and so it does when its P has changed hands.
//
//   S3  The global queue comes before run_next and the ring at the end of a slice, and at each 61st schedule. If it never runs dry, and holds chains
//       of hand-offs, the ring would wait for ever. So g0 takes a G of the ring first if nothing has left the ring for a slice.
//
// A G that yields while nothing else is in its P's own queue takes a batch from the global queue before it is queued itself. It would be its own
// predecessor for 60 of 61 schedules otherwise, and "lets others run first" not true.
//
// Rejected. A limit for the hand-offs in a row: with pieces of 5 ms sixteen of them are 80 ms, and it costs each hand-off a test. A look at the
// clock at each hand-off. The global queue for what is in run_next: beside a ring that never runs dry its turn comes every 61st schedule.
//
// Another P's run_next is only stolen by a thief that has seen the same G there at the same tick at least 3 µs before: the thief keeps
// the time, so that a push costs nothing.
//
// Who: g0 of the M, but for pick_local: also a G that leaves.
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// With many Gs what a switch touches is in no cache, and the wait for it is most of a switch. So it is fetched before.

// g starts soon.
[[gnu::always_inline]] inline void prefetch_start(const G* g) noexcept {
    const auto* lines = reinterpret_cast<const char*>(g);
    __builtin_prefetch(lines + cache_line);
    __builtin_prefetch(lines + 2 * cache_line);
}

// g is made ready soon, and goes on: what it is called with lies in its third line.
[[gnu::always_inline]] inline void prefetch_ready(const G* g) noexcept {
    __builtin_prefetch(g);
    prefetch_start(g);
}

// g goes on soon.
[[gnu::always_inline]] inline void prefetch_resume(const G* g) noexcept {
    if (sanitized) return;  // a thief may have it by now: a hint, but a race to them
    const auto* sp = static_cast<const char*>(g->context.sp);
    __builtin_prefetch(sp);
    __builtin_prefetch(sp + cache_line);
    __builtin_prefetch(sp + 2 * cache_line);
    const auto* top = reinterpret_cast<const char*>(g->stack);
    __builtin_prefetch(top);
    __builtin_prefetch(top - cache_line);
}

// Step 4, for the owner of p.
[[nodiscard, gnu::always_inline]] inline G* pick_queued(P* p) noexcept {
    G* ahead = nullptr;
    G* g = p->queue.pop(ahead);
    if (g != nullptr && ahead != nullptr) [[unlikely]]
        prefetch_resume(ahead);
    return g;
}

// Whether m, whose P's time slice goes on, was asked to end it: Q2 of preempt.h. In the runtime, or with m's P in any other way.
[[nodiscard]] inline bool slice_was_ended(const M* m) noexcept {
    return m->slice_over.load(acquire) == m->p->slice() + 1;  // acquire: pairs with Q2
}

// The time slice of m's P ends: what would inherit it goes to the tail of the ring. In the runtime, before the G that has used it up is queued.
void end_slice(M* m) noexcept;

// Steps 3 and 4, for the owner of p.
[[nodiscard, gnu::always_inline]] inline G* pick_local(P* p) noexcept {
    G* next = p->run_next.load(relaxed);  // relaxed: ours while we are in the runtime
    if (next != nullptr) {
        p->run_next.store(nullptr, relaxed);  // relaxed: as above
        p->inherited.add();
        return next;
    }
    return pick_queued(p);
}

// Nothing to run in the P's own queue. Whether g0 may find something else, or is to give back what the P keeps.
[[nodiscard]] inline bool g0_may_find(const scheduler& s, const P* p) noexcept {
    return p->has_work() || s.has_shared_work() || p->timers.next_deadline() != never || s.stopping.load(relaxed) ||
           p->gives_back.load(relaxed);  // relaxed: looks
}

// Step 5, for the owner of p, which has no work of its own: one of a batch, the rest of which is in the ring then; nullptr: the global queue is empty.
[[nodiscard]] G* take_share_of_global(scheduler& s, P* p) noexcept;

// Step 7: a G for m to run now, and perhaps others in its ring, which is empty before; nullptr: there is nothing, or other thieves win.
[[nodiscard]] G* steal(scheduler& s, M* m, int64_t now_ns) noexcept;

// The loop of g0: runs Gs until the scheduler stops.
void schedule_loop(M* m) noexcept;

}  // namespace weft::detail
