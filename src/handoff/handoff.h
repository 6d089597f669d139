// handoff.h: an M hands off its P to another M, for pin.h, or before it blocks (retake.h).
//
//   H1  the idle lock. When stopping, nothing is handed off
//   H2  the target: the M of a pinned G; else an idle M, else a new one. If asleep it leaves its
//       list. The P leaves its M: owner word cleared, target.next_p = P, target.next_g = G. Unlock
//   H3  if the target slept, its note is notified (or its thread is made). If no thread can be had,
//       the giver takes its P back
//
// H2 also settles how the giver is counted until it has a P again. Otherwise it would count for a
// moment as an M that is about to scan (enough_ms_locked in idle.cc).
//
// Locks:   the idle lock.
// Threads: the M that holds the P, in the runtime.
// See:     docs/pin.md, test/model/pin.pml, test/model/retake.pml
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// What the giver does afterwards.
enum class previous_owner : uint8_t {
    goes_idle,  // m->p is nullptr
    retires,    // runs nothing more; m->p is nullptr
    continues,  // continues its G outside the runtime, as after a retake: m->p stays
};

enum class handoff : uint8_t {
    done,
    no_m,      // no M can be had; m has its P back
    stopping,  // the scheduler is stopping; m keeps its P
};

// Hands off the P of m, the calling M, with g, which m has taken from a queue, to an M that may run
// g. Without g, any M gets the P and searches for work.
[[nodiscard]] handoff hand_off_p(scheduler& s, M* m, G* g, previous_owner what) noexcept;

}  // namespace weft::detail
