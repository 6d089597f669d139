// recycle.h: the end of a G, and reuse of what it leaves.
//
// A dead G, its stack if of the default size, and its stack credit stay with the P on which it
// ended, for the next spawn there. Surplus goes to the scheduler's pools in batches (g_pool.h,
// stack_pool.h). If a stack's depth is measured or sampled, it is read when the G leaves the stack
// (places.h).
//
// Threads: an M with a P, in the runtime, unless said otherwise.
// See: docs/green_threads.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// Recycles g, which has finished and left its stack.
void recycle_g(M* m, G* g) noexcept;

// As recycle_g, without a P: g goes to the pool. Any thread that has pinned s, or is an M of it.
void recycle_g_outside(scheduler& s, G* g) noexcept;

// Recycles from, which has finished; to continues on its stack.
void hand_stack_over(M* m, G* from, G* to) noexcept;

// Returns the stack of g, which is dead, to the pool, if it has one. The caller must own g.
void unbind_stack(scheduler& s, G* g) noexcept;

// Moves all caches of p, which the caller owns, to the pools.
void empty_caches(scheduler& s, P& p) noexcept;

}  // namespace weft::detail
