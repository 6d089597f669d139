// classes.h: Gs of the high and the low class: where they wait, and when they have their turn.
//
// The problem. A switch between two normal Gs is a few dozen instructions, and programs that use no classes must not pay one more.
//
// So the common path does not know of classes. Gs that are not normal wait in lists of their own, of the P or, if they were made ready
// from outside, of the scheduler, and only g0 takes them from there. A push of a high G ends the countdown to the next way through
// g0, as a time slice that is over does; from outside, it asks for the attention of a P. While class lists of the P are not empty every
// switch goes through g0 if high ones are there, and every 61st one if only low ones are.
//
//   g0, before the global queue and the ring    a high G, if there is one; but each 17th time the others have a turn
//                                               a low G, if one has waited for P::low_every schedules
//   before it steals                            a high G after all, if the others had nothing
//   stealing                                    high ones first, half of them
//   when nothing was found anywhere             a low G: its own, the scheduler's, any P's
//
// Bounds, on one P with high, normal and low Gs queued for ever. A schedule of 17 is not high. The way through g0 is taken at least
// every 61 schedules, so a low one is seen after 61 schedules, and runs after 60 + 61 + 17 more at most: 199 in all. The global
// queue has its turn every 61, or, while a low one takes it, the time after: it is never passed over twice.
//
// Work conservation. Class lists count as a P's work (P::has_work), so the idle protocol holds for them as it does for rings: a push is
// followed by after_push, a look includes them.
//
// Raised. A G whose class is raised while it is queued (lending.h) is moved at once. What is in a list is taken out of it under the list's
// lock; a list of more than shared_queue::walk_max is left alone. Into a ring only the owner of its P reaches, so all Ps are asked to hurry,
// and g0 goes through its own ring:
//
//      thread that raises a class                     thread that queues the G
//      C1  the class bits of the G                    Q1  its state: runnable
//      C2  full fence                                 Q2  reads the class bits, and pushes
//      C3  its state is runnable: searches the        Q3  onto a low list: full fence, reads the class bits again; if they are raised
//          lists; not found: raised += 1,                 takes the G out again, if it is still there, and moves it
//          and asks all Ps
//
// If C3 does not see the state, Q3 sees the bits. A normal G has no Q3: one that is pushed onto a ring at that very moment, or is on its way
// from one ring to another, may be missed. Then it has its turn there.
//
// RUN_DEBUG=random marks all Gs with special::shuffled: whether they go to run_next or to the ring is drawn by lot.
//
// Rejected. Three rings for each P and a bitmap of those that are not empty: a test more in each switch, 4 KiB for each P. High Gs in
// run_next: one place, and its inheritance of time slices would make starvation of the ring the rule. A heap by deadline, or weights: a
// number that nobody knows how to choose.
//
// Invariants: I1. A G in a class list has that class's bit, or had it when it was queued.
//             I2. While p's or the scheduler's list of high ones is not empty and p runs, p goes through g0 at its next switch, or has been
//                 asked to.
// Locks:      a list's own (leaf).
// Who:        the M that holds the P, on g0, but for pushes.
// See:        docs/priorities.md
#pragma once

#include <weft/priority.h>

#include "sched/scheduler.h"

namespace weft::detail {

// As P::end_ticks(), from another thread. Nothing happens if nobody holds p.
void ask_to_hurry(P& p) noexcept;

// As push_outside, for a G of another class than the normal one. False: it is a normal one, and nothing was done.
[[nodiscard]] bool push_class_outside(G* g) noexcept;

// g, which is runnable, goes to the tail of the scheduler's queue of its class: all Ps take from there. In the runtime.
void push_shared(scheduler& s, G* g) noexcept;

// C3. g, which was runnable after its class was raised, is moved from the queue of the class before to that of its own, or the P in whose ring it is
// does so soon. g may have run meanwhile, and may have ended. Any thread; s, which is g's, is pinned.
void move_raised(scheduler& s, G* g, priority before) noexcept;

// As move_raised has asked: Gs of m's P that are high by now leave run_next and the ring. On g0.
void move_raised_of(scheduler& s, M* m) noexcept;

// The G whose turn it is before all normal ones; nullptr: theirs.
[[nodiscard]] G* take_turn(scheduler& s, P* p) noexcept;

// A high G, whoever's turn it is; nullptr: there is none here.
[[nodiscard]] G* take_high(scheduler& s, P* p) noexcept;

// p runs a G that was picked before this way through g0: if it was to hurry meanwhile, it does so after that schedule.
void keep_hurry(const scheduler& s, P* p) noexcept;

// Half of victim's high Gs: one to run now, the others are queued on p.
[[nodiscard]] G* steal_high(P* p, P* victim) noexcept;

// A low G from wherever there is one.
[[nodiscard]] G* take_any_low(scheduler& s, P* p) noexcept;

}  // namespace weft::detail
