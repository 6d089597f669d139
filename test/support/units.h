// units.h: sizes in bytes, times in nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::test {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

inline constexpr int64_t us = 1'000;
inline constexpr int64_t ms = 1'000 * us;

}  // namespace weft::test
