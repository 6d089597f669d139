// trim.h: a runtime gives the memory that it does not need back, a little at a time.
//
// The problem. After a burst of green threads their stacks and their Gs lie in pools and would stay there. Giving memory
// back is work, and a load that comes again pays for it a second time. So it is the work of a thread that has time, the monitor, and it
// concerns only what was not needed for an interval, runtime_options::memory_idle.
//
//   W1  A pool into which something is given while nobody watches it says so. watch_memory() then calls the monitor.
//   W2  After an interval, the monitor begins a round. It takes what idle Ps keep to the pools, and asks the others to do that themselves.
//   W3  It calls trim_memory() until the round is over: a fraction of a millisecond at a time, with pauses, so that its other work is not late.
//   W4  If something is left that may be surplus after the next interval, it goes on with W2. Else nobody watches, until W1. So a program at rest
//       is left alone after two or three intervals, and not woken any more.
//
// How the pools decide what was not needed, and what they do with it: src/stack/trim.cc, g_pool.h.
//
// Ps keep up to 32 stacks apart from dead Gs, and up to 64 dead Gs of which 32 have stacks. When a P is idle these are nobody's: whoever holds
// idle.lock and finds it on the list of idle Ps may empty them. A P that runs sees P::gives_back when it next goes through g0.
//
// Rejected. A thread of its own: it would wake an idle process as well, and cost 8 MiB of address space. A timer in the program's own Ps: they may
// all compute. A round at the end of each burst: there is no telling where a burst ends. malloc_trim(): with 1 GB of small blocks half of which are free it
// holds the lock of an arena for 0.3 to 5 s (measured: glibc 2.36), and every green thread that allocates waits for that.
//
// Locks: idle.lock, then those of the pools.
// Who:   one thread at a time, with or without a P: the monitor. watch_memory: any thread that does not hold idle.lock.
// See:   docs/stacks.md#memory-that-goes-back
#pragma once

#include <cstdint>

#include "sched/g.h"
#include "stack/stack.h"

namespace weft::detail {

struct P;
struct scheduler;

// Where a round is. Of the caller of trim_memory.
struct trim_round {
    bool on = false;
    bool stacks_done = false;
    bool gs_done = false;
    bool over = true;  // nothing is left for the next one
};

// A part of a round, for up to most stacks: some microseconds for each. trimming::more: the round goes on. trimming::over: no other round is needed
// until watch_memory() is called.
trimming trim_memory(scheduler& s, uint32_t most = 64) noexcept;

// Something was given to a pool that nobody watches.
void watch_memory(scheduler& s) noexcept;

// p, which is the caller's, was asked to give what it keeps to the pools.
void give_caches_back(scheduler& s, P& p) noexcept;

// Give to the pools of s, and see to it that somebody watches them.
void give_stack(scheduler& s, struct stack* one) noexcept;
void give_stacks(scheduler& s, fifo<struct stack>& batch) noexcept;
void give_gs(scheduler& s, fifo<G>& batch) noexcept;

}  // namespace weft::detail
