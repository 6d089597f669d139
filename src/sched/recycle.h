// recycle.h: the end of a G, and reuse of what it leaves.
//
// A dead G, its stack if of the default size, and its stack credit stay with its last P, for the
// next spawn there. Surplus goes to the scheduler's pools in batches (g_pool.h, stack_pool.h). A
// measured or sampled stack's depth is read when the G leaves it (places.h).
//
// Threads: an M with a P, in the runtime, unless said otherwise.
// See: docs/green_threads.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// g has finished and left its stack.
void recycle_g(M* m, G* g) noexcept;

// As recycle_g, without a P: g goes to the pool. Any thread that has pinned s, or is an M of it.
void recycle_g_outside(scheduler& s, G* g) noexcept;

// from has finished and is recycled; to continues on its stack.
void hand_stack_over(M* m, G* from, G* to) noexcept;

// Returns the stack of g, which is dead, to the pool, if any. The caller owns g.
void unbind_stack(scheduler& s, G* g) noexcept;

// Moves all caches of p to the pools. The caller owns p.
void empty_caches(scheduler& s, P& p) noexcept;

}  // namespace weft::detail
