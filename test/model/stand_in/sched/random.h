// random.h: in models the checker makes the random choices.
#pragma once

#include <cstdint>

#include "sched/switch.h"

namespace weft::detail {

[[nodiscard]] inline uint32_t random_below(M* /*m*/, uint32_t n) noexcept { return any_choice().below(n); }

// Unused: models have no RUN_DEBUG.
extern atomic<bool> shuffles_wakes;
waiter* shuffled(waiter* first) noexcept;

}  // namespace weft::detail
