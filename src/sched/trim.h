// trim.h: a runtime gives the memory of stacks that it does not use back, a little at a time.
//
// stack_pool::trim() sees only what lies in the depot. Ps keep stacks too: up to 32 apart from Gs and up to 32 with dead Gs, and who
// took part in a burst of deep calls keeps deep ones. While a P runs, its caches are its owner's, and used at once again. When
// it is idle they are nobody's: whoever holds idle.lock and finds it on the list of idle Ps may empty them. That is done once a P
// has been idle from one call to the next; a short rest costs it nothing.
//
// Locks: idle.lock, then those of the pools.
// Who:   one thread at a time, with or without a P: a monitor.
// See:   docs/stacks.md, src/stack/trim.cc
#pragma once

#include <cstdint>

#include "stack/stack.h"

namespace weft::detail {

struct scheduler;

// Moves what idle Ps keep to the pool, and has the pool trim at most that many stacks. To be called every now and then, a second apart or
// so: what is surplus from one call to the next is trimmed. Takes some microseconds for each stack that has deep pages, and less
// than one for each that has not; when there is nothing to do, a few locks. A runtime that has come to rest has nothing left to be
// done after trim_calls calls that say there is no more.
inline constexpr int trim_calls = 4;

trimming trim_stacks(scheduler& s, uint32_t most = 64) noexcept;

}  // namespace weft::detail
