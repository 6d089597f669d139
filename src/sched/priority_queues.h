// priority_queues.h: Gs of class high and low: where they are queued, and when they run.
//
// Switches between normal Gs must not pay for classes. So other Gs wait in lists of the P or, if
// made ready externally, of the scheduler, and only g0 takes them. A push of a high G ends the
// countdown to the next pass through g0, as the end of a slice does; an external one sets a P's
// preempt bit. Every switch passes through g0 while the P's lists have high Gs, every 61st if they
// have only low ones.
//
//   g0, before the global queue and the ring    a high G, if any; each 17th time the others run
//                                               a low G, if one has waited for P::low_every schedules
//   before it steals                            a high G after all, if the others had nothing
//   stealing                                    high Gs first, half of them
//   when nothing was found anywhere             a low G: its own, the scheduler's, any P's
//
// Bounds, on one P with Gs of all classes always queued: one schedule in 17 is not high. g0 is
// passed at least every 61 schedules, so a low G is seen within 61 and runs at most 60 + 61 + 17
// later: 199 in all. The global queue is served every 61 schedules, or the time after if a low G
// took that one.
//
// Class lists count in P::has_work, so the idle protocol covers them: after_push follows a push,
// and scans include them.
//
// Raised. A queued G whose class is raised (inheritance.h) moves at once: out of a list under its lock,
// unless the list is longer than shared_queue::walk_max. Only a P's owner can search its ring, so
// all Ps are asked to hurry, and each g0 searches its own:
//
//      thread that raises a class                     thread that queues the G
//      C1  the class bits of the G                    Q1  its state: runnable
//      C2  full fence                                 Q2  reads the class bits, and pushes
//      C3  if its state is runnable, searches the     Q3  after a push onto a low list: full fence, reads the class bits
//          lists; if not found, increments raised,        again; if raised, takes the G out again, if it is still there,
//          and asks all Ps                                and moves it
//
// If C3 misses the state, Q3 sees the bits. A normal G has no Q3: if it is being pushed onto a
// ring, or moves between rings, C3 may miss it, and it runs in its turn.
//
// RUN_DEBUG=random marks all Gs special::shuffled: chance decides between run_next and the ring.
//
// Rejected, besides those in docs/priorities.md: High Gs in run_next would have a single place, and
// with inherited time slices starve the ring. A heap by deadline needs numbers that users cannot
// choose.
//
// Invariants: I1. A G in a class list has that class's bit, or had it when it was queued.
//             I2. While p runs and its or the scheduler's high list is not empty, p passes through
//                 g0 at its next switch, or has been asked to.
// Locks:      a list's own (leaf).
// Threads:    the M that holds the P, on g0; pushes: any thread.
// See:        docs/priorities.md
#pragma once

#include <weft/priority.h>

#include "sched/scheduler.h"

namespace weft::detail {

// P::end_ticks() from another thread. No effect if p has no owner.
void ask_to_hurry(P& p) noexcept;

// push_outside for a G that is not normal. Returns false, and does nothing, for a normal one.
[[nodiscard]] bool push_class_outside(G* g) noexcept;

// Pushes g, which is runnable, onto the scheduler's queue of its class, which serves all Ps. In the
// runtime.
void push_shared(scheduler& s, G* g) noexcept;

// C3. Moves g, runnable after its class was raised, from the queue of class `before` to that of its
// class, or asks the Ps to. g may have run since, or ended. Any thread; g's s is pinned.
void move_raised(scheduler& s, G* g, priority before) noexcept;

// After move_raised: moves high Gs of m's P out of run_next and the ring. On g0.
void move_raised_of(scheduler& s, M* m) noexcept;

// The G that runs before normal ones; nullptr: none does.
[[nodiscard]] G* take_turn(scheduler& s, P* p) noexcept;

// A high G, out of turn; nullptr: none here.
[[nodiscard]] G* take_high(scheduler& s, P* p) noexcept;

// p runs a G picked before this pass through g0; a request to hurry takes effect after it.
void keep_hurry(const scheduler& s, P* p) noexcept;

// Half of victim's high Gs: returns one, queues the others on p.
[[nodiscard]] G* steal_high(P* p, P* victim) noexcept;

// A low G from any queue.
[[nodiscard]] G* take_any_low(scheduler& s, P* p) noexcept;

}  // namespace weft::detail
