// recycle.h: the end of a G, and reuse of what it leaves.
//
// A dead G, its default stack and its credit stay in the caches of its last P. The surplus goes to
// the scheduler's pools.
//
// Threads: an M with a P, in the runtime, unless said otherwise.
// See: docs/green_threads.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// g has left its stack.
void recycle_g(M* m, G* g) noexcept;

// As recycle_g, without a P: g goes to the pool. Any thread that has pinned s, or is an M of it.
void recycle_g_outside(scheduler& s, G* g) noexcept;

// Recycles from, which has finished; to continues on its stack.
void hand_stack_over(M* m, G* from, G* to) noexcept;

// Returns the stack of dead g, if any, to the pool. The caller owns g.
void unbind_stack(scheduler& s, G* g) noexcept;

// The caller owns p.
void empty_caches(scheduler& s, P& p) noexcept;

}  // namespace weft::detail
