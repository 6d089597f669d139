// injected.h: the injected queue, for Gs that return from a call without a P or are readied by a
// thread without one.
//
// Problem. The global queue and its lock are shared, so a P checks it only at every 61st schedule.
// Beside Gs that compute in pieces of 0.1 ms, a G that returns through it waits 6 ms each time. A
// check at each schedule would cost something at each schedule, even while no G returns.
//
// So these Gs, called arrivals, have a queue of their own. The pushing thread sets
// attention::injected in the owner word of one P. At its next entry into the runtime that P ends its
// countdown, and its next switch goes through g0, which checks the queue. While no G arrives, this
// costs nothing.
//
//      push   N1  the G to the queue         g0   A1  takes the arrival, if it is its turn
//             N2  full fence                      A2  one schedule later: measures t, its run time
//             N3  wakes an idle P; if none is,    A3  the others run for t or for one schedule,
//                 asks a running one                  whichever is longer; then the next arrival
//
// Fairness. An arrival overtakes the ring, which may be long, so arrivals get at most as much time
// as the others. After an arrival that ran for t, the next runs only t later, unless nothing else
// is runnable. To see the end of t, g0 checks after 1, 2, 4 … schedules, up to P::global_every.
// That is rarely if schedules are short, and soon if they are long. A single arrival waits for the
// piece that runs when it comes. The n-th waits for n pieces of the others and for the n - 1
// arrivals before it.
//
// A G that an arrival leaves in run_next runs after one G of the ring. Otherwise everything that
// arrivals start would overtake the ring, for a slice each.
//
// A G that lost its P because its slice was over is not an arrival. It goes to the global queue, as
// if preempted. Otherwise a G that computes for a slice, yields and returns would get every other
// slice.
//
// Lost requests. A P that changes its M loses the bits of its owner word. Its next M checks the
// queue before it runs a G or, if it was handed one, after that G (keep_hurry). If the asked P
// computes, others that pass through g0 take the arrival, and the monitor asks all of them
// (sysmon.h). Every 61st schedule checks in any case. So a lost request costs time only; no work
// depends on it.
//
// Rejected: The global queue. What has overflowed there is ahead of the G.
// Rejected: The ring of the asked P. Only its owner may push there.
// Rejected: A count of waiting arrivals, read at each switch. It costs every switch an instruction
// or two.
// Rejected: The returning M retakes its P from the current holder. That needs a heavy fence, and
// leaves the holder without a P.
//
// Invariants: I1. Arrivals are of the normal class; others have lists of their own (priority_queues.h).
//             I2. While the queue is not empty and p runs, p goes through g0 within P::global_every
//                 schedules.
// Locks:      the queue's own (leaf).
// Threads:    push_injected: as push_outside. request_reschedule: any thread. The others: g0 of the M that
//             holds p.
// See:        docs/scheduling.md, test/model/injected.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// As push_outside, for a G that has run before and has not used up its slice.
void push_injected(G* g) noexcept;

// Asks p to go through g0, and check the queue, at its next switch. False: no M holds p.
bool request_reschedule(P& p) noexcept;

// take_injected, if an arrival waits or has just run.
[[nodiscard]] G* take_turn_of_injected(scheduler& s, P* p) noexcept;

// An arrival, if it is the arrivals' turn; nullptr: none waits, or the others run. Uses the time in
// p->now_ns.
[[nodiscard]] inline G* take_injected(scheduler& s, P* p) noexcept {
    if (p->injected_began_ns == 0 && s.injected.size() == 0) [[likely]]
        return nullptr;
    return take_turn_of_injected(s, p);
}

// An arrival, out of turn; nullptr: none waits.
[[nodiscard]] G* take_any_injected(scheduler& s, P* p) noexcept;

}  // namespace weft::detail
