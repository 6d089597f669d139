// spawn.h: the start of a G.
//
// spawn_begin takes a dead G and a stack credit, the caller constructs the closure, and
// spawn_commit makes the G runnable. At its first run, bind_stack gives it a stack, and it begins
// in g_main. It ends in exit_g (switch.h) and recycle_g.
//
// Threads: an M with a P, in the runtime.
// See: docs/green_threads.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// Allocates a stack above the default class. Throws resource_exhausted.
[[nodiscard]] struct stack* take_large_stack(scheduler& s, int size_class);

// On g0 of m, which has a P. The first makes sure that the second can take a G; false: no memory.
// The second fills it in for a function without options, whose closure the caller constructs in
// it. where and parent are for dumps.
[[nodiscard]] bool can_spawn_on_g0(M* m) noexcept;
[[nodiscard]] G* spawn_on_g0(M* m, const entry_type& entry, source_location where, uint64_t parent) noexcept;

// As spawn_commit, but behind the Gs that are queued on the P, where idle Ps steal it at once.
// Caller: a G.
void spawn_commit_last(G* g) noexcept;

// to has never run. Cannot fail, because to has a credit.
void bind_stack(M* m, G* to) noexcept;

}  // namespace weft::detail
