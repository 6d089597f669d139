// pin.h: Gs that run on one M only, and the hand-off of Ps for them.
//
// An M may take from a queue a G that it may not run: one pinned to another M, or any other while
// it has its own. It then hands off its P, with that G, by H1 to H3 of handoff.h:
//
//   H4  the giver goes idle by the idle protocol, after a full scan
//   H5  if no M can be had, the M of a pinned G keeps the P. The G, and all Gs queued on the P, go
//       to the scheduler's queues. If the M was handed a P with its own G since, it gives up the
//       first P and goes idle, to find the other. Else, if its own G is runnable, it takes that
//       from the scheduler's queues, or steals, and passes on whatever else it steals. Else it
//       retries in 1 ms. No countdown of schedules ends there, so its G must not wait for a turn
//
// Invariants: I1. special::pinned, stack.pinned_to == m and m->pinned == g are equivalent; changed
//                 by g, running on m.
//             I2. An M with pinned set runs no other G; a switch from or to a pinned G passes
//                 through g0.
//             I3. next_p of a pinned G's M is written only by the thread with its G in hand (one at
//                 a time), or, while off its list and no longer pinned, as for any M.
// Locks:      the idle lock; with H5, those of the queues.
// Threads:    g0 of the M, in the runtime.
// See:        docs/pin.md, test/model/pin.pml
#pragma once

#include "sched/scheduler.h"
#include "stack/stack.h"

namespace weft::detail {

// The M on which g must run; nullptr: any.
[[nodiscard]] inline M* pinned_to(const G* g) noexcept {
    // relaxed: set by g itself, before it was queued
    return (g->special.load(relaxed) & special::pinned) == 0 ? nullptr : g->stack->pinned_to;
}

// Requires: m has taken g from a queue.
[[nodiscard]] inline bool may_run(const M* m, const G* g) noexcept {
    M* to = pinned_to(g);
    return to == nullptr ? m->pinned == nullptr : to == m;
}

// H1 to H4, for g, which m has taken from a queue; H5 if no M can be had: m keeps the P. Returns
// when m has a P again (perhaps with a G in picked), or without one if the scheduler is stopping.
void hand_over(scheduler& s, M* m, G* g) noexcept;

// Adds or removes one pin of the G that runs on m. False: it is not pinned.
void pin_g(M* m) noexcept;
[[nodiscard]] bool unpin_g(M* m) noexcept;

// Keeps a preempted G, whose registers may hold the address of a thread-local, pinned to m, on
// which it runs, until it next leaves an M by itself, or ends (docs/preemption.md). Its own pins
// are unaffected.
void keep_g(M* m) noexcept;
void stop_keeping(G* g) noexcept;

// m's pinned G has ended: hands off m's P for good. Returns with a P only if the scheduler is
// stopping.
void retire(scheduler& s, M* m) noexcept;

// The thread that called weft::main has retired: blocks it until the end.
void await_stop(scheduler& s, M* m) noexcept;

}  // namespace weft::detail
