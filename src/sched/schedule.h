// schedule.h: what an M runs next.
//
// The order, in the steps of docs/scheduling.md, pinned by a test:
//     1  due timers of the own P                       4  the own ring
//     2  an injected G; sometimes ready I/O, and       5  a batch from the global queue; any injected G
//        a G of the global queue                       6  ready I/O
//     3  run_next                                      7  stealing; then sleep by the protocol of idle.h
//
// Time slices. A G from run_next inherits the slice of the G before it; P::slice() counts the other
// schedules. A shared slice ends in one of two ways; then a queued G runs before run_next:
//
// S1  g0, at least every 61 schedules, saw the same slice slice_ns ago.
// S2  The monitor, while others are queued, asked the running G to yield (preempt.h).
//
// If nothing is queued, or the P has changed hands, the chain of hand-offs gets a new slice.
//
// S3  The global queue precedes the ring at the end of a slice and at each 61st schedule. Chains of
//     hand-offs there would starve the ring, so the ring comes first if nothing has left it for a
//     slice.
//
// Rejected: reading the clock at each hand-off; moving run_next to the global queue, which beside a
// busy ring is reached only at every 61st schedule.
//
// Threads: g0 of the M; pick_local also by a leaving G.
// See:     docs/scheduling.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// With many Gs, cache misses are most of a switch: hence the prefetches.

[[gnu::always_inline]] inline void prefetch_start(const G* g) noexcept {
    const auto* lines = reinterpret_cast<const char*>(g);
    __builtin_prefetch(lines + cache_line);
    __builtin_prefetch(lines + 2 * cache_line);
}

// The closure is in the third line.
[[gnu::always_inline]] inline void prefetch_ready(const G* g) noexcept {
    __builtin_prefetch(g);
    prefetch_start(g);
}

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

// Q2 of preempt.h: m was asked to end its P's current slice. m keeps its P during the call.
[[nodiscard]] inline bool slice_was_ended(const M* m) noexcept {
    return m->slice_over.load(acquire) == m->p->slice() + 1;  // acquire: pairs with Q2
}

// Ends the slice of m's P: run_next goes to the ring's tail. In the runtime, before the G that used
// up the slice is queued.
void end_slice(M* m) noexcept;

// Steps 3 and 4, for the owner of p.
[[nodiscard, gnu::always_inline]] inline G* pick_local(P* p) noexcept {
    G* next = p->run_next.load(relaxed);  // relaxed: ours in the runtime
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

// Step 5, for the owner of p, which has no work. The rest of the batch goes to the ring.
[[nodiscard]] G* take_share_of_global(scheduler& s, P* p) noexcept;

// Step 7. Other stolen Gs go to m's ring, which must be empty. nullptr: there is nothing, or other
// thieves win.
[[nodiscard]] G* steal(scheduler& s, M* m, int64_t now_ns) noexcept;

// g0's loop: runs Gs until the scheduler stops or m retires.
void schedule_loop(M* m) noexcept;

}  // namespace weft::detail
