// retake.h: takes the P of an M that computes or blocks for too long, and runs that M without a P.
//
// A G may compute for a second, block in read(), wait for a page, or be stopped in a debugger. Its
// P and the queued Gs wait with it. The runtime cannot interrupt the G, which may be inside malloc.
//
// So the P is taken from the M and handed off to another M. The G runs on, on its own OS thread,
// and learns of the loss when it next enters the runtime. This needs no signal, and treats a
// blocking call, a busy loop and a page fault alike.
//
// The monitor (sysmon.h) chooses the P. It must know that the M is outside the runtime, not in a
// push to the queue; and the M must learn of the loss before it touches the P again:
//
//      monitor                                        M, entering the runtime
//      R1  owner: {M} → {M, retake}, by CAS           E1  in_runtime = 1
//      R2  heavy fence                                E2  compiler fence
//      R3  in_runtime == 0 ?                          E3  owner == {M}: has the P
//      R4  owner: {M, retake} → 0, by CAS             E4  owner has retake: clears it by CAS, and has the P;
//      R5  hands off the P                                owner is not M: continues without it
//
// If the heavy fence falls after E1, R3 sees the 1, and the monitor gives up. If it falls before
// E1, E3 sees retake, or that the P is gone. Of the exchanges R4 and E4, which change the same
// word, only one succeeds. R4 finds the bit set only if M has not entered since R1. This needs a
// single monitor for each runtime: a second one could set the bit again after M has cleared it.
//
// An M without a P is in one of two places:
//
//   in user code   m->p is its last P, whose owner word does not name m. Calls that do not park
//                  (go, ready, unlock, try_send …) work as in a plain thread: they never wait and
//                  never move the G. Calls that park switch to g0, which needs no P. yield(),
//                  checkpoint() and the end of a blocking() take an idle P, its last one first.
//                  Without an idle P the G joins the returned queue (arrivals.h), or the tail of
//                  the global queue if its slice was over. No other call moves the G to another
//                  thread.
//   on g0          m->p is nullptr: the M goes idle by the idle protocol.
//
// Work waits for the P, so the M that gets it must exist before. R4 and R5 are done under
// idle.lock; the monitor first makes an M if none is idle. If it cannot, the M keeps its P.
//
// Rejected:
// - A signal that interrupts the G: it may hold a lock of malloc.
// - A flag in the P instead of the exchange: both sides could believe that they have won.
// - A full fence in enter: five times the cost of the rest.
// - Taking the P of an M in the runtime: it may be inside a push.
// - Before a long call: leaving the queued Gs to a spinning M, through the global queue, and the P
//   idle. As many Ms wake in the end, only later, and the G in run_next runs last.
//
// Invariants: I1. At most one M has its address in a P's owner word. Only that M and, while asked
//                 is set, a thief touch the owner's fields.
//             I2. An M in user code holds m->p exactly if m->p->owner names it: only an M on a list
//                 is given a P.
//             I3. idle.off_p counts the Ms that have lost their P and are not yet back on g0 or on
//                 a P.
// Locks:      idle.lock.
// See:        docs/retake.md, test/model/retake.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// ---- The monitor's side.

// R1: m, if it holds p, must clear the bit to keep it. Returns false if m does not hold p, or if
// asked is set.
[[nodiscard]] bool announce_retake(P& p, const M* m) noexcept;

// R3 and R4, after a heavy fence. Returns true if p was taken; otherwise the bit is clear, and m
// keeps p, as after withdraw_retake. The caller holds idle.lock.
[[nodiscard]] bool take_p_locked(P& p, const M* m) noexcept;
void withdraw_retake(P& p) noexcept;

// ---- The side of m, the calling M, which runs a G.

// Before m blocks: gives its P to another M if work waits. m keeps it if none waits, or no M can be
// had.
void leave_p_to_others(scheduler& s, M* m) noexcept;

// ---- The same, in the runtime, after enter() has returned false.

// Takes an idle P, preferably the last one. Returns false if none is idle, or the runtime stops.
[[nodiscard]] bool take_back_p(scheduler& s, M* m) noexcept;

// Leaves the current G to m->after. Returns the M on which the G resumes; it has a P.
[[nodiscard]] M* switch_away_without_p(M* m) noexcept;

// Leaves the current G in the returned queue (arrivals.h) or, if its P was taken at the end of a
// slice, at the tail of the global queue. Returns as above.
[[nodiscard]] M* queue_for_p(M* m) noexcept;

// Ends the current G.
[[noreturn]] void exit_without_p(M* m) noexcept;

// ---- On g0.

// m is back without a P: sleeps until it has one. Returns without one if the scheduler is stopping.
void come_back_without_p(scheduler& s, M* m) noexcept;

}  // namespace weft::detail
