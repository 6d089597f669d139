// schedule.h: what an M runs next.
//
// The order, pinned by a test:
//
//   1  timers of the own P that are due             4  the own ring
//   2  an arrival, if it is its turn; every 61st     5  a batch from the global queue; any arrival
//      time: ready I/O, one G from the global queue  6  ready I/O, if nobody sleeps in the poller
//   3  run_next                                      7  half of another P's ring; the last of four rounds also
//                                                       fires others' due timers and takes a stale run_next
//
// then the M goes to sleep by the protocol of idle.h and starts again at 1.
//
// run_next makes hand-offs fast, but a pair that wakes each other through it would starve the ring, so after 16 in a row the ring
// has its turn. Another P's run_next is only stolen by who has seen the same G there at the same tick at least 3 µs
// before: the thief keeps the time, so that a push costs nothing.
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

// Steps 3 and 4, for the owner of p.
[[nodiscard, gnu::always_inline]] inline G* pick_local(P* p) noexcept {
    G* next = p->run_next.load(relaxed);  // relaxed: ours while we are in the runtime
    if (next != nullptr && p->run_next_left != 0) {
        p->run_next.store(nullptr, relaxed);  // relaxed: as above
        --p->run_next_left;
        return next;
    }
    p->run_next_left = P::run_next_in_a_row;
    G* ahead = nullptr;
    G* g = p->queue.pop(ahead);
    if (g == nullptr) [[unlikely]] {
        if (next != nullptr) p->run_next.store(nullptr, relaxed);  // relaxed: as above. Its turn has come after all
        return next;
    }
    if (ahead != nullptr) [[unlikely]]
        prefetch_resume(ahead);
    return g;
}

// Nothing to run in the P's own queue. Whether g0 may find something else, or is to give back what the P keeps.
[[nodiscard]] inline bool g0_may_find(const scheduler& s, const P* p) noexcept {
    return p->has_work() || s.has_shared_work() || p->timers.next_deadline() != never || s.stopping.load(relaxed) ||
           p->gives_back.load(relaxed);  // relaxed: looks
}

// Step 7: a G for m to run now, and perhaps others in its ring, which is empty before; nullptr: there is nothing, or other thieves win.
[[nodiscard]] G* steal(scheduler& s, M* m, int64_t now_ns) noexcept;

// The loop of g0: runs Gs until the scheduler stops.
void schedule_loop(M* m) noexcept;

}  // namespace weft::detail
