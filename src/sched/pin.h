// pin.h: Gs that run on one M only, and the hand-off of Ps for them.
//
// A pinned G is queued and stolen like any other. An M may take from a queue a G that it may not
// run: one pinned to another M, or any other G while the M has its own. It then hands off its P,
// with that G, to an M that may run it. docs/pin.md has the design and its alternatives.
//
//   H1  idle.lock. When stopping, nothing is handed off
//   H2  the target: the M of a pinned G; else an idle M, else a new one. A sleeping target leaves
//       its list. The P leaves its M: owner word cleared, target.next_p = P, target.next_g = G.
//       Unlock
//   H3  if the target slept, its note is notified (or its thread is made)
//   H4  the giver goes idle by the idle protocol, and first scans everything
//
// If no M can be had (this happens only to the M of a pinned G, with another G in hand), the M
// keeps a P whose Gs it may not run. No countdown of schedules then ends, so its own G must not
// wait for a turn:
//
//   H5  the G, and all others queued on the P, go to the shared queues of the scheduler. If the M
//       was handed a P and its own G since, it gives up the first P and goes idle, to find the
//       other at once. Else, if its own G is runnable, it takes it out of the shared queues, or
//       steals; whatever else it steals goes to the shared queues. Else it sleeps for 1 ms, and
//       retries
//
// When its G has left, the M holds its P, looks for work and hands off what is not its own. Without
// work it sleeps, on a list of its own (idle.pinned_ms). An M that is handed its G while awake
// finds next_p before it goes idle. It then skips the scan, so it wakes another M if wanted is set.
//
// Only givers write next_p and next_g of a pinned G's M: a P that it takes itself does not pass
// there.
//
// Invariants: I1. special::pinned, stack.pinned_to == m and m->pinned == g are equivalent; changed
//                 by g, running on m.
//             I2. An M with pinned set runs no other G; a switch from or to a pinned G passes
//                 through g0.
//             I3. next_p of a pinned G's M is written by the thread that has its G in hand (one at
//                 a time), or, while it is off its list and no longer pinned, as for any M.
// Locks:      idle.lock; with H5, those of the queues.
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

// True if m may run g, which it has taken from a queue.
[[nodiscard]] inline bool may_run(const M* m, const G* g) noexcept {
    M* to = pinned_to(g);
    return to == nullptr ? m->pinned == nullptr : to == m;
}

// H1 to H4: hands off m's P to an M that may run g, which m has taken from a queue. Returns when m
// has a P again (perhaps with a G in picked), or without one if the scheduler is stopping. If no M
// can be had, queues g elsewhere, and m keeps the P (H5).
void hand_over(scheduler& s, M* m, G* g) noexcept;

// Adds or removes one pin of the G that runs on m. False: it is not pinned.
void pin_g(M* m) noexcept;
[[nodiscard]] bool unpin_g(M* m) noexcept;

// Keeps a preempted G on m, on which it runs: after the preemption, a register may hold the address
// of a thread-local. The G stays pinned until it next leaves an M by itself, in a call that may
// move it and keeps no such address, or until it ends. Its own pins are unaffected.
void keep_g(M* m) noexcept;
void stop_keeping(G* g) noexcept;

// After m's pinned G has ended: hands off m's P for good. Returns with a P only if the scheduler is
// stopping.
void retire(scheduler& s, M* m) noexcept;

// Blocks the thread that called weft::main, which has retired, until the end.
void await_stop(scheduler& s, M* m) noexcept;

}  // namespace weft::detail
