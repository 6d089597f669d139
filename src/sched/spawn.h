// spawn.h: the beginning of a G.
//
// Life of a G: spawn_begin takes a dead G and a credit for a stack; the caller constructs the closure; spawn_commit makes it
// runnable. At its first run it gets a stack, bind_stack, and begins in g_main (g_main.h). When the closure has returned, exit_g (switch.h)
// leaves the stack and recycle_g (recycle.h), on the next stack, puts G and stack into the P's caches.
//
// Who: an M with a P, in the runtime. See: docs/green_threads.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// A stack of a class above the default one. Throws resource_exhausted.
[[nodiscard]] struct stack* take_large_stack(scheduler& s, int size_class);

// Gives to, which has never run, a stack: one of the P's cache, or of the pool. Never fails: it has a credit.
void bind_stack(M* m, G* to) noexcept;

}  // namespace weft::detail
