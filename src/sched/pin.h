// pin.h: Gs that run on one M only, and the hand-over of Ps to and from it.
//
// A pinned G is queued and stolen like any other. What differs is the last step: an M that has taken a G out of a queue which it may
// not run (a G pinned to another M; or any other G, if it has a pinned one of its own) gives its P, with the G, to an M that may, and
// goes on without a P. The essay, with rejected designs, is docs/pin.md.
//
//   H1  idle.lock. Stopping: nothing is handed over any more
//   H2  the target: the M of a pinned G; else an idle M, else a new one. If it sleeps it is taken off its list. The P leaves its M:
//       owner word cleared, target.next_p = P, target.next_g = G. Unlock
//   H3  if the target slept, its note is told (or its thread is made)
//   H4  the giver lies down by the idle protocol, with a look at everything first
//
// There may be no M to be had. That concerns the M of a pinned G only, with a G that is not pinned in its hand: it is stuck with a P whose
// Gs it may not run. As it runs none, no countdown of schedules ends: its own G must not have to wait for its turn.
//
//   H5  the G, and all others that are queued on the P, go to the scheduler's queues, for other Ps. Was a P handed to the M meanwhile, with
//       its G? Then it gives up its own and lies down, to find the other one at once. Else, if its own G is runnable, it takes that out of
//       the scheduler's queues, or steals; what it steals besides goes the same way. Else it naps for 1 ms, and tries again
//
// The M of a pinned G, once that has left, is an M like any other: it holds its P, looks for work, hands over what is not its own, and
// sleeps when there is nothing, on a list of its own (idle.pinned_ms). It may be handed its G while it is awake: it finds next_p
// before it lies down. As it does not look at anything then, somebody else has to: it wakes another M if wanted is set.
//
// next_p and next_g of the M of a pinned G are its givers': what it takes for itself when it gets up does not pass through them.
//
// Invariants: I1. special::pinned, stack.pinned_to == m and m->pinned == g say the same; changed by g, running on m.
//             I2. An M with pinned set runs no other G; a switch to or from a pinned G passes through g0.
//             I3. next_p of a pinned G's M is written by who has its G in hand (so by one at a time), or, while it is off its list and
//                 not pinned any more, as of any M.
// Locks:      idle.lock; with H5, those of the queues.
// Who:        g0 of the M, in the runtime.
// See:        docs/pin.md, test/model/pin.pml
#pragma once

#include "sched/scheduler.h"
#include "stack/stack.h"

namespace weft::detail {

// The M that g has to run on; nullptr: any.
[[nodiscard]] inline M* pinned_to(const G* g) noexcept {
    // relaxed: set by g itself, before it was queued
    return (g->special.load(relaxed) & special::pinned) == 0 ? nullptr : g->stack->pinned_to;
}

// Whether m, which has taken g from a queue, may run it.
[[nodiscard]] inline bool may_run(const M* m, const G* g) noexcept {
    M* to = pinned_to(g);
    return to == nullptr ? m->pinned == nullptr : to == m;
}

// H1 to H4: gives m's P to an M that may run g, which m has taken from a queue. Returns when m has a P again (and perhaps a G in picked),
// or with none if the scheduler is stopping. If there is no M to be had, g is queued elsewhere, and m keeps the P: H5.
void hand_over(scheduler& s, M* m, G* g) noexcept;

// Pins the G that runs on m, once more, or once less. False: it is not pinned.
void pin_g(M* m) noexcept;
[[nodiscard]] bool unpin_g(M* m) noexcept;

// A G that is preempted in the middle of a function may find there, when it goes on, the address of one of its thread's variables in a
// register. So it is kept: pinned to m, on which it runs, until it next leaves an M by itself, which it does in a call that may move
// it and from which it keeps no such address. Then, or at its end, g stops being kept. Pins of its own stay.
void keep_g(M* m) noexcept;
void stop_keeping(G* g) noexcept;

// m's pinned G has ended. m gives its P to another M and is to run nothing any more. Returns with a P only if the scheduler is stopping.
void retire(scheduler& s, M* m) noexcept;

// The thread that called weft::main has retired: it waits for the end.
void await_stop(scheduler& s, M* m) noexcept;

}  // namespace weft::detail
