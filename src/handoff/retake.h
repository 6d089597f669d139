// retake.h: takes the P of an M that computes or blocks for too long.
//
// The G runs on, on its own OS thread, and learns of the loss when it next enters the runtime. So
// nothing is interrupted, be it malloc, and a blocking call, a busy loop, a page fault and a
// debugger are one case.
//
// The monitor (sysmon.h) chooses the P. M must be outside the runtime, not inside a push, and must
// learn of the loss before it touches the P again:
//
//      monitor                                        M, entering the runtime
//      R1  owner: {M} → {M, retake}, by CAS           E1  in_runtime = 1
//      R2  heavy fence                                E2  compiler fence
//      R3  in_runtime == 0 ?                          E3  owner == {M}: has the P
//      R4  owner: {M, retake} → 0, by CAS             E4  owner has retake: clears it by CAS, and has the P;
//      R5  hands off the P                                owner is not M: continues without it
//
// If the fence falls after E1, R3 sees the 1, and the monitor gives up. If it falls before, E3 sees
// retake or the loss; R4 and E4 exchange the same word, and one succeeds. R4 finds the bit only if
// M has not entered since R1. A second monitor could set it again, so each runtime has one.
//
// Without a P, an M is in one of two places:
//
//   in user code   m->p is its last P, whose owner word does not name m. Calls that do not park
//                  (go, ready, unlock, try_send …) work as in a plain thread: they never wait or
//                  move the G. Parking switches to g0, which needs no P. yield(), checkpoint() and
//                  the end of a blocking() take an idle P, preferably the last one. If none is
//                  idle, the G goes to the returned queue (injected.h), or to the global queue if
//                  its slice was over. Nothing else moves the G to another thread.
//   on g0          m->p is nullptr, and the M goes idle by the idle protocol.
//
// Work waits for the P, so an M for it must exist first. R4 and R5 hold the idle lock; without an idle
// M, the monitor first makes one. If it cannot, the P stays.
//
// Rejected, besides those in docs/retake.md: A retake inside the runtime could hit half of a push.
// If a call first left the P idle, and its Gs to a spinning M through the global queue, as many Ms
// would wake, but later, and run_next would run last.
//
// Invariants: I1. No two owner words name the same M. Only a P's M and, while asked is set, a
//                 thief touch its owner fields.
//             I2. An M in user code holds m->p exactly if m->p->owner names it: only Ms on lists
//                 are given a P.
//             I3. idle.absent.without_p counts the Ms that have lost their P and are not back on g0 or a P.
// Locks:      the idle lock.
// See:        docs/retake.md, test/model/retake.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// ---- The monitor's side.

// R1: m, if it holds p, must clear the bit to keep it. False: m does not hold p, or asked is set.
[[nodiscard]] bool announce_retake(P& p, const M* m) noexcept;

// R3 and R4, under the idle lock, after a heavy fence. False: m keeps p, and the bit is clear, as after
// withdraw_retake.
[[nodiscard]] bool take_p_locked(P& p, const M* m) noexcept;
void withdraw_retake(P& p) noexcept;

// ---- The side of m, the calling M, which runs a G.

// m will block: hands off its P if work waits and an M can be had.
void leave_p_to_others(scheduler& s, M* m) noexcept;

// ---- The same, in the runtime, after enter() has returned false.

// Takes an idle P, preferably the last one. False: none is idle, or the runtime stops.
[[nodiscard]] bool take_back_p(scheduler& s, M* m) noexcept;

// Leaves the current G to m->after. Returns the M, with a P, on which it resumes.
[[nodiscard]] M* switch_away_without_p(M* m) noexcept;

// The same, for the returned queue (injected.h), or the global queue if m's slice was over.
[[nodiscard]] M* queue_for_p(M* m) noexcept;

// Ends the current G.
[[noreturn]] void exit_without_p(M* m) noexcept;

// ---- On g0.

// Sleeps until m has a P again. Returns without one if the scheduler is stopping.
void come_back_without_p(scheduler& s, M* m) noexcept;

}  // namespace weft::detail
