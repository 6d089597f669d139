// priority_queues.h: Gs of class high and low: where they are queued, and when they run.
//
// They wait in lists of the P or, if made ready externally, of the scheduler. Only g0 takes them:
// switches between normal Gs must not pay for classes. Every switch passes through g0 while the P's
// lists have high Gs, every 61st if they have only low ones.
//
// On one P, g0 sees a low G within 61 schedules and runs it at most 60 + 61 + 17 later: 199 in all.
//
// For the idle protocol, P::has_work counts class lists, and after_push follows each push.
//
// Raised. A queued G whose class is raised (inheritance.h) moves at once. A list is searched under
// its lock, unless it is longer than shared_queue::walk_max. Only a P's owner can search its ring,
// so all Ps are asked to hurry:
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
// Rejected (more in docs/priorities.md): high Gs in run_next, where there is one place, and an
// inherited slice would starve the ring; a heap by deadline, whose numbers users cannot choose.
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

// push_outside for a high or low G. False: g is normal, and at most recorded.
[[nodiscard]] bool push_class_outside(G* g) noexcept;

// Pushes g, which is runnable, onto the scheduler's queue of its class. In the runtime.
void push_shared(scheduler& s, G* g) noexcept;

// C3, for g, which was runnable after its class was raised from `before`. It may have run since, or
// ended. Any thread that has pinned s.
void move_raised(scheduler& s, G* g, priority before) noexcept;

// After C3: moves high Gs of m's P out of run_next and the ring. On g0.
void move_raised_of(scheduler& s, M* m) noexcept;

// The G that runs before normal ones; nullptr: none does.
[[nodiscard]] G* take_turn(scheduler& s, P* p) noexcept;

// A high G, out of turn; nullptr: none here.
[[nodiscard]] G* take_high(scheduler& s, P* p) noexcept;

// p runs a G picked earlier; a request to hurry takes effect after it.
void keep_hurry(const scheduler& s, P* p) noexcept;

// Takes half of victim's high Gs: returns one, queues the others on p.
[[nodiscard]] G* steal_high(P* p, P* victim) noexcept;

// A low G from any queue.
[[nodiscard]] G* take_any_low(scheduler& s, P* p) noexcept;

}  // namespace weft::detail
