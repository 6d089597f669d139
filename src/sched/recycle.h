// recycle.h: the end of a G: what it leaves behind, and where that is kept.
//
// A dead G, with its stack if that is of the default size, and the credit for a stack stay with the P it ended on, for the next spawn there;
// what is too much of it goes to the scheduler's pools in batches (g_pool.h, stack_pool.h). A stack whose depth is measured or sampled is
// looked at when it is left (places.h).
//
// Who: an M with a P, in the runtime, unless said otherwise. See: docs/green_threads.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// g has finished and left its stack.
void recycle_g(M* m, G* g) noexcept;

// As recycle_g, without a P: g goes to the pool. Any thread that has pinned s, or is an M of it.
void recycle_g_outside(scheduler& s, G* g) noexcept;

// from has finished; to continues on its stack. from is recycled.
void hand_stack_over(M* m, G* from, G* to) noexcept;

// The stack of g, which is dead, goes back to the pool, if it has one. Any thread that has g to itself.
void unbind_stack(scheduler& s, G* g) noexcept;

// What p, which is the caller's alone, keeps for later goes to the pools.
void empty_caches(scheduler& s, P& p) noexcept;

}  // namespace weft::detail
