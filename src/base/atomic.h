// atomic.h: the library's atomics, for layers below the public API.
//
// Public headers and model builds share them.
#pragma once

#include <weft/detail/atomic.h>

namespace weft::detail {

// Variables that different threads write must not share a cache line.
inline constexpr unsigned long cache_line = 64;

// One half of an asymmetric fence; the other is os::heavy_fence().
inline void compiler_fence() noexcept { asm volatile("" ::: "memory"); }

}  // namespace weft::detail
