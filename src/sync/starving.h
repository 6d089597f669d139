// starving.h: how long a thread waits for a mutex before the mutex is handed to it.
#pragma once

#include <cstdint>

namespace weft::detail {

inline constexpr int64_t starving_after_ns = 1'000'000;

}  // namespace weft::detail
