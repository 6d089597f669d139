// arrivals.h: Gs that come back: from a call that blocked, or woken by a thread without a P. Where they wait, and when they have their turn.
//
// The problem. An M that comes back without a P leaves its G in a queue that all Ps share, and a P looks at such a queue at every 61st
// schedule, because its lock and its line are everybody's. Beside Gs that compute in pieces of 0.1 ms that is 6 ms for each of them. But
// who looks at each schedule pays for it at each schedule, also while nobody comes.
//
// So arrivals have a queue of their own, and who pushes says so: it sets attention::arrival in the owner word of one P, by which the next
// entry into the runtime ends that P's countdown; its next switch goes through g0, which looks. While nobody comes that costs nothing.
//
//      push   N1  the G to the queue         g0   A1  takes the arrival, if it is its turn
//             N2  full fence                      A2  one schedule later it is back, and takes the time
//             N3  an idle P is woken; else        A3  the others have their turn: as long as the arrival ran, or one schedule,
//                 one that runs is asked              whichever is longer; then the next arrival
//
// Fairness. An arrival overtakes the ring, which may be long. So arrivals together run no longer than the others do: after one that ran for
// t comes no other for t, unless the rest has nothing to run. g0 looks for the end of that after 1, 2, 4 … schedules, up to P::global_every:
// seldom where schedules are short, soon where they are long. So the wait of one that comes alone is what runs now; of the n-th, n pieces of
// the others and those of the n - 1 before it. Whom an arrival leaves in run_next comes after one of the ring: it would else be overtaken by
// all that an arrival starts, for a slice each.
//
// A G that has lost its P because its time slice was over is no arrival: it goes to the global queue, as if preempted. Else one that computes
// for a slice, yields, and comes back would have every other slice.
//
// A lost request. A P that changes hands loses the bits of its owner word. Its next M looks before it runs a G, or, where it was given one,
// after that (keep_hurry). If the P that was asked computes, others that pass through g0 take the arrival, and the monitor asks all of
// them (sysmon.h). And every 61st schedule looks in any case: a request is a matter of time, no work depends on it.
//
// Rejected. The global queue: what has overflowed there is before it. The ring of the P that was asked: its owner alone may push. A count of
// those who wait, read at each switch: an instruction or two for everybody. The M that comes back takes its P from the M that has it
// now: a heavy fence, and that one is left without.
//
// Invariants: I1. Arrivals are of the normal class; others have lists of their own (classes.h).
//             I2. While the queue is not empty and p runs, p goes through g0 within P::global_every schedules.
// Locks:      the queue's own (leaf).
// Who:        push_arrival: as push_outside. Else g0 of the M that holds p.
// See:        docs/scheduling.md, test/model/arrivals.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// As push_outside, for a G that has run before and has not used up its time.
void push_arrival(G* g) noexcept;

// Asks p to look. False: nobody holds it.
bool ask_to_look(P& p) noexcept;

// As take_arrival, when there is one, or one has just run.
[[nodiscard]] G* take_turn_of_arrivals(scheduler& s, P* p) noexcept;

// The arrival whose turn it is; nullptr: that of the others. p->now_ns is the clock.
[[nodiscard]] inline G* take_arrival(scheduler& s, P* p) noexcept {
    if (p->arrival_began_ns == 0 && s.arrivals.size() == 0) [[likely]]
        return nullptr;
    return take_turn_of_arrivals(s, p);
}

// An arrival, whoever's turn it is; nullptr: there is none.
[[nodiscard]] G* take_any_arrival(scheduler& s, P* p) noexcept;

}  // namespace weft::detail
