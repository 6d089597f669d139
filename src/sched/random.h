// random.h: random choices, and which are made only with RUN_DEBUG=random.
//
// Each M has a generator, and each plain thread that needs one. Seeds are the same in every run,
// unless RUN_DEBUG=random sets another. Always random: a thief's victims, the case of a select.
// Only with RUN_DEBUG=random: whether a G made ready runs next (push_apart), and the order of Gs
// woken together.
#pragma once

#include <cstdint>

#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "base/prng.h"

namespace weft::detail {

struct M;

// The seed of runtimes that start later and of plain threads before their first draw.
[[nodiscard]] uint64_t random_seed() noexcept;

// RUN_DEBUG=random. Affects the whole process.
void shuffle_everything(uint64_t seed) noexcept;

extern atomic<bool> shuffles_wakes;

// A number below n, n > 0. m: the caller's M; nullptr for a plain thread.
[[nodiscard]] uint32_t random_below(M* m, uint32_t n) noexcept;
[[nodiscard]] uint32_t random_below(uint32_t n) noexcept;  // finds the M itself

// The waiters, linked by next, in random order.
[[nodiscard]] waiter* shuffled(waiter* first) noexcept;

}  // namespace weft::detail
