// time_units.h: durations in nanoseconds.
#pragma once

#include <cstdint>

namespace weft::detail {

inline constexpr int64_t ns_per_ms = 1'000'000;
inline constexpr int64_t ns_per_s = 1'000'000'000;

}  // namespace weft::detail
