// spawn.h: the start of a G.
//
// Life of a G: spawn_begin takes a dead G and a stack credit. The caller constructs the closure.
// spawn_commit makes the G runnable. At its first run, bind_stack gives it a stack and it begins in
// g_main (g_main.h). When the closure has returned, exit_g (switch.h) leaves the stack. On the next
// stack, recycle_g (recycle.h) puts G and stack into the P's caches.
//
// Threads: an M with a P, in the runtime.
// See: docs/green_threads.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// Allocates a stack of a class above the default. Throws resource_exhausted.
[[nodiscard]] struct stack* take_large_stack(scheduler& s, int size_class);

// Gives to, which has never run, a stack from the P's cache or the pool. Never fails, because to
// has a credit.
void bind_stack(M* m, G* to) noexcept;

}  // namespace weft::detail
