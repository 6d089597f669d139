// simulation.h: stands in for src/sched/simulation.h: models are not simulated.
#pragma once

#include <weft/detail/step.h>

#include "os/os.h"

namespace weft::detail {

class simulation;
struct M;

[[nodiscard]] inline simulation* controlling() noexcept { return nullptr; }

[[nodiscard]] inline bool escapes_simulation(const char* /*what*/) noexcept { return false; }

[[nodiscard]] inline bool stop_is_for_caller(const M* /*m*/) noexcept { return true; }

[[nodiscard]] inline int64_t clock_ns() noexcept { return os::monotonic_ns(); }

}  // namespace weft::detail
