// chance.h: where random choices come from, and which of them are made only with RUN_DEBUG=random.
//
// Each M has a generator, and each plain thread that needs one. Their seeds are the same in every run, but for RUN_DEBUG=random, which
// gives another one. Always by lot: victims of thieves, the case of a select. With RUN_DEBUG=random also: whether a G that is made ready
// runs next (classes.h), in which order those run who are woken together.
//
// Who: see each.
#pragma once

#include <cstdint>

#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "base/prng.h"

namespace weft::detail {

struct M;

// Of runtimes that begin from now on, and of plain threads that draw for the first time.
[[nodiscard]] uint64_t chance_seed() noexcept;

// RUN_DEBUG=random: sets the seed, and shuffles wake-ups from now on, in the whole process.
void shuffle_everything(uint64_t seed) noexcept;

extern atomic<bool> shuffles_wakes;

// A number below n, n > 0. m: the caller's, or nullptr for a plain thread.
[[nodiscard]] uint32_t random_below(M* m, uint32_t n) noexcept;

// The same waiters, linked by next, in another order.
[[nodiscard]] waiter* shuffled(waiter* first) noexcept;

}  // namespace weft::detail
