// gift.h: an M gives its P to another one.
//
// Three do so: the M that has taken a G from a queue which it may not run (pin.h); the M whose pinned G has ended; and the M that is about
// to block in a call (retake.h). The steps are those of pin.h:
//
//   H1  idle.lock. Stopping: nothing is handed over any more
//   H2  the target: the M of a pinned G; else an idle M, else a new one. If it sleeps it is taken off its list. The P leaves its M:
//       owner word cleared, target.next_p = P, target.next_g = G. Unlock
//   H3  if the target slept, its note is told (or its thread is made). No thread to be had: the giver has its P again
//
// What the giver counts as until it has a P again is settled with H2, under the lock: else there would be a moment at which it
// counts as one that is on its way to sleep, and would see what is pushed (enough_ms_locked in idle.cc).
//
// Locks: idle.lock.
// Who:   the M that holds the P, in the runtime.
// See:   docs/pin.md, test/model/pin.pml, test/model/retake.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// What becomes of the M that gives.
enum class giver : uint8_t {
    looks_for_another,  // lies down; m->p is nullptr
    retires,            // runs nothing any more; as above
    goes_on,            // with its G, outside of the runtime, as one that has lost its P: m->p stays, see retake.h
};

enum class gift : uint8_t {
    given,
    refused,   // there is no M to be had, and m has its P
    stopping,  // the scheduler is, and m has its P
};

// m's P goes to an M that may run g, with g, which m has taken from a queue; or, if g is nullptr, to any M, which looks for work with it.
[[nodiscard]] gift give_p(scheduler& s, M* m, G* g, giver what) noexcept;

}  // namespace weft::detail
