// spawn.h: the beginning and the end of a G.
//
// Life of a G: spawn_begin takes a dead G and a credit for a stack; the caller constructs the closure; spawn_commit makes it
// runnable. At its first run it gets a stack, bind_stack. When the closure has returned, exit_g (switch.h) leaves the stack and
// recycle_g, on the next stack, puts G and stack into the P's caches.
//
// Who: an M with a P, in the runtime. See: docs/green_threads.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// A stack of a class above the default one. Throws resource_exhausted.
[[nodiscard]] struct stack* take_large_stack(scheduler& s, int size_class);

// Gives to, which has never run, a stack: one of the P's cache, or of the pool. Never fails: it has a credit.
void bind_stack(M* m, G* to) noexcept;

// from has finished; to continues on its stack. from is recycled.
void hand_stack_over(M* m, G* from, G* to) noexcept;

// g has finished and left its stack.
void recycle_g(M* m, G* g) noexcept;

// As recycle_g, without a P: g goes to the pool. Any thread that has pinned s, or is an M of it.
void recycle_g_outside(scheduler& s, G* g) noexcept;

// What p, which is the caller's alone, keeps for later goes to the pools.
void empty_caches(scheduler& s, P& p) noexcept;

}  // namespace weft::detail
