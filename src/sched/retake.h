// retake.h: takes the P of an M that computes or blocks for too long, and runs that M without a P.
//
// The G runs on, on its own OS thread, and learns of the loss when it next enters the runtime. So
// nothing is interrupted (the G may be inside malloc), no signal is needed, and a blocking call, a
// busy loop, a page fault and a stop in a debugger are one case.
//
// The monitor (sysmon.h) chooses the P. It must know that the M is outside the runtime, not inside
// a push, and the M must learn of the loss before it touches the P again:
//
//      monitor                                        M, entering the runtime
//      R1  owner: {M} → {M, retake}, by CAS           E1  in_runtime = 1
//      R2  heavy fence                                E2  compiler fence
//      R3  in_runtime == 0 ?                          E3  owner == {M}: has the P
//      R4  owner: {M, retake} → 0, by CAS             E4  owner has retake: clears it by CAS, and has the P;
//      R5  hands off the P                                owner is not M: continues without it
//
// A heavy fence after E1: R3 sees the 1, and the monitor gives up. Before E1: E3 sees retake, or
// that the P is gone; R4 and E4 exchange the same word, and one succeeds. R4 finds the bit set only
// if M has not entered since R1. This needs a single monitor for each runtime: a second one could
// set again the bit that M has cleared.
//
// An M without a P is in one of two places:
//
//   in user code   m->p is its last P, whose owner word does not name m. Calls that do not park
//                  (go, ready, unlock, try_send …) work as in a plain thread: they never wait or
//                  move the G. Calls that park switch to g0, which needs no P. yield(),
//                  checkpoint() and the end of a blocking() take an idle P, the last one first. If
//                  none is idle, the G joins the returned queue (arrivals.h), or the tail of the
//                  global queue if its slice was over. Nothing else moves the G to another thread.
//   on g0          m->p is nullptr: the M goes idle by the idle protocol.
//
// An M for the P must exist before the P is taken, since work waits. So R4 and R5 hold idle.lock,
// and the monitor first makes an M if none is idle. If it cannot, the P stays.
//
// Rejected:
// - A signal to the G: it may hold a lock of malloc.
// - A flag in the P instead of the exchange: both sides could believe that they have won.
// - A full fence in enter: five times the cost of the rest.
// - Taking the P inside the runtime: half of a push.
// - Before a long call: an idle P, and its Gs in the global queue for a spinning M. As many Ms
//   wake, only later, and the run_next G runs last.
//
// Invariants: I1. At most one M has its address in a P's owner word. Only it and, while asked is
//                 set, a thief touch the owner's fields.
//             I2. An M in user code holds m->p exactly if m->p->owner names it: only an M on a list
//                 is given a P.
//             I3. idle.off_p counts Ms that have lost their P and are not yet back on g0 or a P.
// Locks:      idle.lock.
// See:        docs/retake.md, test/model/retake.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// ---- The monitor's side.

// R1: m, if it holds p, must clear the bit to keep it. False: m does not hold p, or asked is set.
[[nodiscard]] bool announce_retake(P& p, const M* m) noexcept;

// R3 and R4, under idle.lock, after a heavy fence. True: p is taken. False: the bit is clear and m
// keeps p, as after withdraw_retake.
[[nodiscard]] bool take_p_locked(P& p, const M* m) noexcept;
void withdraw_retake(P& p) noexcept;

// ---- The side of m, the calling M, which runs a G.

// Hands off the P if work waits, before m blocks. m keeps it if none waits, or no M can be had.
void leave_p_to_others(scheduler& s, M* m) noexcept;

// ---- The same, in the runtime, after enter() has returned false.

// Takes an idle P, the last one first. False: none is idle, or the runtime stops.
[[nodiscard]] bool take_back_p(scheduler& s, M* m) noexcept;

// Leaves the current G to m->after. Returns the M, with a P, on which it resumes.
[[nodiscard]] M* switch_away_without_p(M* m) noexcept;

// Leaves the current G in the returned queue (arrivals.h), or at the tail of the global queue if
// its P was taken because its slice was over. Returns the M, with a P, on which it resumes.
[[nodiscard]] M* queue_for_p(M* m) noexcept;

// Ends the current G.
[[noreturn]] void exit_without_p(M* m) noexcept;

// ---- On g0.

// Sleeps until m has a P again. Returns without one if the scheduler is stopping.
void come_back_without_p(scheduler& s, M* m) noexcept;

}  // namespace weft::detail
