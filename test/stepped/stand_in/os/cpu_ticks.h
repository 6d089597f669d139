// cpu_ticks.h: in place of src/os/cpu_ticks.h: the virtual time.
#pragma once

#include "os/os.h"

namespace weft::detail::os {

inline constexpr uint64_t clock_interval = 20'000;

[[nodiscard]] inline uint64_t cpu_ticks() noexcept { return static_cast<uint64_t>(monotonic_ns()); }

}  // namespace weft::detail::os
