// park.h: making Gs runnable: the other door of everything that blocks. (The first one is wait(), in weft/detail/wait.h.)
//
// Where a G goes:   started or made ready by a G of the same runtime   its P's run_next; the displaced G to the ring's tail
//                   yields                                              its P's ring, tail
//                   made ready from outside                             the global queue; an idle P is woken
//                   does not fit the ring                               with half of the ring to the global queue
//
// See: docs/waiting.md
#pragma once

#include "sched/scheduler.h"

namespace weft::detail {

// Puts g, which is runnable, where m's P runs it next. In the runtime.
void push_next(M* m, G* g) noexcept;

// Puts g, which is runnable, at the end of m's P's queue. In the runtime.
void push_last(M* m, G* g) noexcept;

// Puts g, which is runnable, on its scheduler's global queue and sees to it that somebody runs it. Any thread.
void push_outside(G* g) noexcept;

// Ends g's wait: waiting to runnable. From a G of the same runtime it runs next there.
void ready_g(G* g) noexcept;

// As ready_g when already in the runtime as m, which belongs to g's scheduler.
void ready_g_inside(M* m, G* g) noexcept;

// Fires what is due in q and pushes the woken Gs to m's P. In the runtime. Returns how many.
uint32_t fire_timers(M* m, timer_queue& q, int64_t now_ns) noexcept;

}  // namespace weft::detail
