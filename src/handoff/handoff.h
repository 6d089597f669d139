// handoff.h: an M hands off its P to another M.
//
// Three Ms do so:
//
//   - one that has taken from a queue a G that it may not run (pin.h)
//   - one whose pinned G has ended (pin.h)
//   - one that is about to block in a call (retake.h)
//
// The steps are those of pin.h:
//
//   H1  the idle lock. When stopping, nothing is handed off
//   H2  the target: the M of a pinned G; else an idle M, else a new one. If asleep it leaves its
//       list. The P leaves its M: owner word cleared, target.next_p = P, target.next_g = G. Unlock
//   H3  if the target slept, its note is notified (or its thread is made). If no thread can be had,
//       the giver takes its P back
//
// H2 also settles, under the lock, how the giver is counted until it has a P again. Otherwise it
// would count for a moment as an M that is about to sleep and would see what is pushed
// (enough_ms_locked in idle.cc).
//
// Locks:   the idle lock.
// Threads: the M that holds the P, in the runtime.
// See:     docs/pin.md, test/model/pin.pml, test/model/retake.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// What the giver does afterwards.
enum class previous_owner : uint8_t {
    goes_idle,  // goes idle; m->p is nullptr
    retires,    // runs nothing from here on; m->p is nullptr
    continues,  // continues its G outside the runtime, as after a retake: m->p stays (retake.h)
};

enum class handoff : uint8_t {
    done,
    no_m,      // no M can be had; m has its P back
    stopping,  // the scheduler is stopping; m keeps its P
};

// Hands off the P of m, the calling M. With g, which m has taken from a queue, the P and g go to an
// M that may run g. If g is nullptr, the P goes to any M, which searches for work with it.
[[nodiscard]] handoff hand_off_p(scheduler& s, M* m, G* g, previous_owner what) noexcept;

}  // namespace weft::detail
