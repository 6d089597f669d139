// trim.h: returning memory that a runtime does not need, a little at a time.
//
// The problem. After a burst of green threads their stacks and Gs stay in pools. Returning memory
// is work, and the next burst pays for it again. So the monitor does it, which has time, and
// returns only what was not needed for runtime_options::memory_idle.
//
// W1  A pool that is not watched reports when something is given to it; watch_memory() calls the
//     monitor.
// W2  After an interval, the monitor begins a round. It moves the caches of idle Ps to the pools,
//     and asks other Ps to do that.
// W3  It calls trim_memory() until the round is over: a fraction of a millisecond each, with
//     pauses, so that its other work is not late.
// W4  If more may become surplus, it continues with W2 after the next interval. Otherwise pools are
//     unwatched until W1. So an idle program is left alone after two or three intervals.
//
// How the pools decide what to return, and how: src/stack/trim.cc, g_pool.h.
//
// A P caches up to 32 stacks, and up to 64 dead Gs, 32 of them with stacks. A thread that holds
// the idle lock may empty the caches of Ps on the idle list. A running P checks P::gives_back when it
// goes through g0.
//
// Rejected:
// - A separate thread: it too would wake an idle process, and costs 8 MiB of address space.
// - A timer in the program's Ps: they may all compute.
// - A round after each burst: its end cannot be detected.
// - malloc_trim(): with 1 GB of small blocks, half of them free, it holds an arena's lock for 0.3
//   to 5 s (measured: glibc 2.36), and blocks every green thread that allocates.
//
// Locks:   the idle lock, then those of the pools.
// Threads: one at a time, with or without a P: the monitor. watch_memory: any that does not hold
//          the idle lock.
// See:     docs/stacks.md#memory-that-goes-back
#pragma once

#include <cstdint>

#include "sched/g.h"
#include "stack/stack.h"

namespace weft::detail {

struct P;
struct scheduler;

// State of a round. Owned by the caller of trim_memory.
struct trim_round {
    bool on = false;
    bool stacks_done = false;
    bool gs_done = false;
    bool over = true;  // nothing is left for the next round
};

// One part of a round, for up to most stacks, at some microseconds each. trimming::more: the round
// is not over. trimming::over: no round is needed until watch_memory() is called.
trimming trim_memory(scheduler& s, uint32_t most = 64) noexcept;

// Something was given to an unwatched pool.
void watch_memory(scheduler& s) noexcept;

// Gives the caches of p, which the caller owns, to the pools, because P::gives_back was set.
void give_caches_back(scheduler& s, P& p) noexcept;

// Give to the pools of s; call watch_memory() if needed.
void give_stack(scheduler& s, struct stack* one) noexcept;
void give_stacks(scheduler& s, fifo<struct stack>& batch) noexcept;
void give_gs(scheduler& s, fifo<G>& batch) noexcept;

}  // namespace weft::detail
