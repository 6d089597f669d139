// retake.h: takes the P of an M that computes or blocks for too long.
//
// The G runs on, on its own OS thread, and learns of the loss when it next enters the runtime. The
// monitor (sysmon.h) chooses the P. M must be outside the runtime, not inside a push, and must
// learn of the loss before it touches the P again:
//
//      monitor                                        M, entering the runtime
//      R1  owner: {M} → {M, retake}, by CAS           E1  in_runtime = 1
//      R2  heavy fence                                E2  compiler fence
//      R3  in_runtime == 0 ?                          E3  owner == {M}: has the P
//      R4  owner: {M, retake} → 0, by CAS             E4  owner has retake: clears it by CAS, and has the P;
//      R5  hands off the P                                owner is not M: continues without it
//
// docs/retake.md says why that suffices, and why a runtime must have only one monitor.
//
// An M without a P is in one of two places; what its G may do is in docs/retake.md, too:
//
//   in user code   m->p is its last P, whose owner word does not name m.
//   on g0          m->p is nullptr, and the M goes idle by the idle protocol.
//
// R4 and R5 hold the idle lock. They need an idle M; if the monitor cannot make one, the P stays.
//
// Rejected, besides those in docs/retake.md:
//   - a retake inside the runtime: it could hit half of a push
//   - a call that leaves the P idle, and its Gs to a spinning M through the global queue: as many
//     Ms would wake, but later, and run_next would run last
//
// Invariants: I1. No two owner words name the same M. Only a P's M and, while asked is set, a
//                 thief touch its owner fields.
//             I2. An M in user code holds m->p exactly if m->p->owner names it: only Ms on lists
//                 are given a P.
//             I3. idle.absent.without_p counts the Ms that have lost their P and are not back on g0
//                 or a P.
// Locks:      the idle lock.
// See:        docs/retake.md, test/model/retake.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// ---- The monitor.

// R1: m, if it holds p, must clear the bit to keep it. False: m does not hold p, or asked is set.
[[nodiscard]] bool announce_retake(P& p, const M* m) noexcept;

// R3 and R4, under the idle lock, after a heavy fence. False: m keeps p, and the bit is clear, as
// after withdraw_retake.
[[nodiscard]] bool take_p_locked(P& p, const M* m) noexcept;
void withdraw_retake(P& p) noexcept;

// ---- m, the calling M, which runs a G.

// m will block: hands off its P if work waits and an M can be had.
void leave_p_to_others(scheduler& s, M* m) noexcept;

// ---- The same, in the runtime, after enter() has returned false.

// Takes an idle P, preferably the last. False: none is idle, or the runtime stops.
[[nodiscard]] bool take_back_p(scheduler& s, M* m) noexcept;

// Leaves the current G to m->after. Returns the M, with a P, on which it resumes.
[[nodiscard]] M* switch_away_without_p(M* m) noexcept;

// The same, for the injected queue, or the global queue if m's slice was over.
[[nodiscard]] M* queue_for_p(M* m) noexcept;

// Ends the current G.
[[noreturn]] void exit_without_p(M* m) noexcept;

// ---- On g0.

// Sleeps until m has a P again. Returns without one if the scheduler is stopping.
void come_back_without_p(scheduler& s, M* m) noexcept;

}  // namespace weft::detail
