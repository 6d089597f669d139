// retake.h: taking a P away from an M that does not use it as it should, and what that M does without one.
//
// The problem. A G that computes for a second, blocks in read(), waits for a page from a slow disk, or is stopped in a debugger holds its
// P, and with it the Gs queued there. Nothing may be asked of it: it may be in the middle of malloc, or of a library that has
// never heard of green threads.
//
// So the P is taken away from the M and given to another one, and the G is left alone. It goes on, on its own OS thread, and finds out the
// next time it enters the runtime. No C++ code is interrupted anywhere, no signal is needed, and a blocking call, a busy loop and a
// page fault are one case.
//
// The monitor (sysmon.h) decides whose P is to go. It must know that the M is outside of the runtime, not in the middle of a push to the
// P's queue, and the M must find out before it touches the P again:
//
//      monitor                                        M, entering the runtime
//      R1  owner: {M} → {M, retake}, by CAS           E1  in_runtime = 1
//      R2  heavy fence                                E2  compiler fence
//      R3  in_runtime == 0 ?                          E3  owner == {M}: has the P
//      R4  owner: {M, retake} → 0, by CAS             E4  owner has retake: clears it by CAS, and has the P;
//      R5  hands the P to another M                       owner is not M any more: goes on without
//
// The heavy fence falls before E1 or after it. After E1: R3 sees the 1, and the monitor gives up. Before it: E3 sees retake or that the P
// is gone, and R4 and E4 are exchanges of the same word, of which one succeeds. That R4 finds the bit still set says that M has not entered
// since R1. There is one monitor for each runtime: with two, one could set the bit again that M has cleared, for the other to find.
//
// Without its P, an M is in one of two places:
//
//   in user code   m->p is the P that it had, whose owner word is not m's. Whatever does not park works as in a plain thread: go, ready,
//                  unlock, try_send … never waits, and never moves the G. What parks switches to g0, which needs no P for that.
//                  yield(), checkpoint() and the end of a blocking() take an idle P, that one first; if there is none, the G waits with
//                  the arrivals, or, if it had used up its time slice, at the end of the global queue. These, and what parks, are the
//                  only places where a G changes threads.
//   on g0          m->p is nullptr, as for any M that has given its P up: it lies down by the idle protocol.
//
// The heir. A P that is taken has work waiting: an M to run it must be there before. So idle.lock is held for R4 and R5, and without an idle
// M the monitor makes one first. If no thread is to be had the P stays where it is.
//
// Rejected. Interrupting the G by a signal (it may hold a lock of malloc). A flag in the P in place of the exchange (both could believe
// to have won). A full fence in enter (five times the price of the rest). Taking the P of an M in the runtime (half of a push). Leaving what
// waits before a long call to an M that spins, through the global queue, and the P idle: that one wakes another when it finds work, so that
// as many are woken in the end, only later, and what was to run next runs behind all that is queued.
//
// Invariants: I1. At most one M has its address in a P's owner word, and only that M and, while asked is set, a thief touch what is the
//                 owner's.
//             I2. An M in user code holds m->p exactly if m->p->owner names it: nobody gives a P to an M that is on no list.
//             I3. idle.off_p counts the Ms that have lost their P and have not come back to g0, or to a P.
// Locks:      idle.lock.
// See:        docs/retake.md, test/model/retake.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// ---- The monitor's side.

// R1: from now on M m, if it holds p, has to clear the bit to keep it. False: it does not hold it, or somebody works on it.
[[nodiscard]] bool announce_retake(P& p, const M* m) noexcept;

// R3 and R4, after a heavy fence: whether p has been taken. idle.lock is held. Otherwise m keeps it, and the bit is gone; as after
// withdraw_retake.
[[nodiscard]] bool take_p_locked(P& p, const M* m) noexcept;
void withdraw_retake(P& p) noexcept;

// ---- The side of m, the calling M, whose G runs.

// Gives the P to another M if anything waits for it, because m is about to block. If not, or if no M is to be had, m keeps it.
void leave_p_to_others(scheduler& s, M* m) noexcept;

// ---- The same, in the runtime, when enter() has returned false.

// Takes an idle P, rather the one it had. False: there is none, or the runtime stops.
[[nodiscard]] bool take_back_p(scheduler& s, M* m) noexcept;

// Leaves the current G for what m->after says. Returns the M on which it goes on, which has a P.
[[nodiscard]] M* switch_away_without_p(M* m) noexcept;

// Leaves the current G for the arrivals (arrivals.h) or, if its P was taken because its time slice was over, for the end of the global
// queue. Returns the M on which it goes on, which has a P.
[[nodiscard]] M* queue_for_p(M* m) noexcept;

// The current G has finished.
[[noreturn]] void exit_without_p(M* m) noexcept;

// ---- On g0.

// m has come back without a P: lies down until it has one. Without one it returns if the scheduler is stopping.
void come_back_without_p(scheduler& s, M* m) noexcept;

}  // namespace weft::detail
