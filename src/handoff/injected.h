// injected.h: the injected queue, for Gs that return from a call without a P or are readied by a
// thread without one.
//
// The pushing thread sets attention::injected in the owner word of one P. At its next entry into
// the runtime that P ends its countdown, and its next switch goes through g0, which checks the
// queue. Injected Gs overtake the ring, so they alternate with it:
//
//      push   N1  the G to the queue         g0   A1  takes an injected G, if one is due
//             N2  full fence                      A2  one schedule later: measures t, its run time
//             N3  wakes an idle P; if none is,    A3  the others run for t or for one schedule,
//                 asks a running one                  whichever is longer; then the next is due
//
// To see the end of t, g0 checks after 1, 2, 4 … schedules, up to P::global_every. A G that an
// injected G leaves in run_next runs after one G of the ring, which it would overtake otherwise. A
// G that lost its P because its slice was over goes to the global queue. Otherwise a G that
// computes for a slice, yields and returns would get every other slice.
//
// Lost requests. A P that changes its M loses the bits of its owner word. Its next M checks the
// queue before it runs a G or, if it was handed one, after that G (keep_hurry). If the asked P
// computes, others that pass through g0 take the G, and the monitor asks all of them (p_watch.cc).
// So a lost request costs only time.
//
// Rejected, besides those in docs/scheduling.md:
//   - the ring of the asked P: only its owner may push there
//   - a count of waiting Gs, read at each switch: an instruction or two in each
//   - a retake by the returning M: it needs a heavy fence, and leaves the holder without a P
//
// Invariants: I1. Injected Gs are of the normal class; others have their own lists
//                 (priority_queues.h).
//             I2. While the queue is not empty and p runs, p goes through g0 within P::global_every
//                 schedules.
// Locks:      the queue's own (leaf).
// Threads:    push_injected: as push_outside. request_reschedule: any thread. The others: g0 of the
//             M that holds p.
// See:        docs/scheduling.md, test/model/injected.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// As push_outside, for a G that has run before and has not used up its slice.
void push_injected(G* g) noexcept;

// Asks p to go through g0, and check the queue, at its next switch. False: no M holds p.
bool request_reschedule(P& p) noexcept;

// The slow path of take_injected.
[[nodiscard]] G* take_turn_of_injected(scheduler& s, P* p) noexcept;

// An injected G, if one is due at p->now_ns; else nullptr.
[[nodiscard]] inline G* take_injected(scheduler& s, P* p) noexcept {
    if (p->injected_began_ns == 0 && s.injected.size() == 0) [[likely]]
        return nullptr;
    return take_turn_of_injected(s, p);
}

// An injected G, out of turn; nullptr: none waits.
[[nodiscard]] G* take_any_injected(scheduler& s, P* p) noexcept;

}  // namespace weft::detail
