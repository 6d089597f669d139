// schedule.h: what an M runs next.
//
// The order, pinned by a test:
//     1  due timers of the own P                       4  the own ring
//     2  an injected G, if due; every 61st time and    5  a batch from the global queue; any injected G
//        at the end of a slice: ready I/O, one G       6  ready I/O, if no M sleeps in the poller
//        from the global queue                         7  half of another P's ring; the last of four rounds
//     3  run_next; the ring at the end of a slice         also fires others' due timers and takes a stale run_next
//
// Then the M sleeps by the protocol of idle.h and starts again at 1.
//
// Time slices. Two Gs that wake each other through run_next would starve the ring. So a G from
// run_next inherits the slice of the G before it: the P counts such schedules, and P::slice() is
// the number of the others. The end of a shared slice is detected in two ways:
//
// S1  By g0, at least every 61 schedules: it saw the same slice slice_ns ago.
// S2  By the monitor, for Gs that compute longer. While others are queued it asks the running G to
//     yield, as at the end of any slice (preempt.h), and the next switch goes through g0. It takes
//     the P only from a G that has run for a slice by itself.
//
// Then a G of the global queue or the ring runs and run_next moves to the ring's tail, so chains of
// hand-offs on one P take turns. A G that yields at the end of a slice, or is asked to, is queued
// behind its run_next. If nothing is queued, or the P has changed hands, the chain gets a new
// slice.
//
// S3  At the end of a slice, and at each 61st schedule, the global queue comes first. If it always
//     holds chains of hand-offs, the ring would starve. So g0 takes from the ring first if nothing
//     has left it for a slice.
//
// A G that yields while its P's queue is empty first takes a batch from the global queue. Otherwise
// it would follow itself in 60 of 61 schedules.
//
// Rejected (more in docs/scheduling.md): reading the clock at each hand-off; moving run_next to the
// global queue, which beside a ring that never becomes empty is reached only at every 61st
// schedule.
//
// A thief takes another P's run_next only if it saw the same G there at the same tick at least 3 µs
// before. The thief keeps the time, so a push costs nothing.
//
// Threads: g0 of the M; pick_local also by a leaving G.
// See:     docs/scheduling.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// With many Gs, waiting for uncached lines is most of a switch. So they are prefetched.

// Prefetches a G that starts soon.
[[gnu::always_inline]] inline void prefetch_start(const G* g) noexcept {
    const auto* lines = reinterpret_cast<const char*>(g);
    __builtin_prefetch(lines + cache_line);
    __builtin_prefetch(lines + 2 * cache_line);
}

// Prefetches a G that is made ready and resumed soon; its closure is in the third line.
[[gnu::always_inline]] inline void prefetch_ready(const G* g) noexcept {
    __builtin_prefetch(g);
    prefetch_start(g);
}

// Prefetches a G that resumes soon.
[[gnu::always_inline]] inline void prefetch_resume(const G* g) noexcept {
    if (sanitized) return;  // a thief may have g: fine for a hint, a race to sanitizers
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

// Whether m was asked to end its P's current slice: Q2 of preempt.h. m keeps its P during the call.
[[nodiscard]] inline bool slice_was_ended(const M* m) noexcept {
    return m->slice_over.load(acquire) == m->p->slice() + 1;  // acquire: pairs with Q2
}

// Ends the slice of m's P: run_next goes to the ring's tail. In the runtime, before the G that used
// up the slice is queued.
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

// The P's own queue is empty: whether g0 may find other work, or must return caches.
[[nodiscard]] inline bool g0_may_find(const scheduler& s, const P* p) noexcept {
    return p->has_work() || s.has_shared_work() || p->timers.next_deadline() != never || s.stopping.load(relaxed) ||
           p->gives_back.load(relaxed);  // relaxed: hints
}

// Step 5, for the owner of p, which has no work: the first G of a batch; the others go to the ring.
// nullptr: the global queue is empty.
[[nodiscard]] G* take_share_of_global(scheduler& s, P* p) noexcept;

// Step 7: a G to run now; others go to m's ring, which must be empty. nullptr: there is nothing, or
// other thieves win.
[[nodiscard]] G* steal(scheduler& s, M* m, int64_t now_ns) noexcept;

// g0's loop: runs Gs until the scheduler stops.
void schedule_loop(M* m) noexcept;

}  // namespace weft::detail
