// trim.h: returning memory that a runtime does not need, a little at a time.
//
// The monitor returns the stacks and Gs that were not needed for runtime_options::memory_idle. What
// they are, the pools decide: src/stack/trim.cc, g_pool.h.
//
// W1  Something is given to an unwatched pool: watch_memory() calls the monitor.
// W2  After an interval, the monitor begins a round. It moves the caches of idle Ps to the pools,
//     under the idle lock, and sets P::gives_back of the others, which check it on g0.
// W3  It calls trim_memory() until the round is over, with pauses for its other work.
// W4  If more may become surplus, it continues with W2. Otherwise pools are unwatched until W1.
//
// Rejected:
// - A separate thread: it wakes an idle process too, and costs 8 MiB of address space.
// - A timer in the program's Ps: they may all compute.
// - A round after each burst: its end cannot be detected.
// - malloc_trim(): holds the lock of an arena for up to 5 s (docs/stacks.md).
//
// Locks:   the idle lock, then those of the pools.
// Threads: the monitor; watch_memory(): any that does not hold the idle lock.
// See:     docs/stacks.md#memory-that-goes-back
#pragma once

#include <cstdint>

#include "sched/g.h"
#include "stack/stack.h"

namespace weft::detail {

struct P;
struct scheduler;

// Owned by the caller of trim_memory().
struct trim_round {
    bool on = false;
    bool stacks_done = false;
    bool gs_done = false;
    bool over = true;  // nothing is left for the next round
};

// One part of a round, for up to most stacks, at some microseconds each.
trimming trim_memory(scheduler& s, uint32_t most = 64) noexcept;

// See W1.
void watch_memory(scheduler& s) noexcept;

// P::gives_back was set. The caller owns p.
void give_caches_back(scheduler& s, P& p) noexcept;

// These call watch_memory() if needed.
void give_stack(scheduler& s, struct stack* one) noexcept;
void give_stacks(scheduler& s, fifo<struct stack>& batch) noexcept;
void give_gs(scheduler& s, fifo<G>& batch) noexcept;

}  // namespace weft::detail
