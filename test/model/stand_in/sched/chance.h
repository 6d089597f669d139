// chance.h: in models chance is the checker's.
#pragma once

#include <cstdint>

#include "sched/switch.h"

namespace weft::detail {

[[nodiscard]] inline uint32_t random_below(M* /*m*/, uint32_t n) noexcept { return any_choice().below(n); }

// Not used: there is no RUN_DEBUG here.
extern atomic<bool> shuffles_wakes;
waiter* shuffled(waiter* first) noexcept;

}  // namespace weft::detail
