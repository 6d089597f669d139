// atomic.h: the atomics of the library, by the name the layers below the public API use.
//
// See include/weft/detail/atomic.h, where they are defined so that public headers and model builds share them.
#pragma once

#include <weft/detail/atomic.h>

namespace weft::detail {

// Two variables that different threads write do not share one of these.
inline constexpr unsigned long cache_line = 64;

// Keeps the compiler, but not the CPU, from moving memory accesses across. One half of an asymmetric fence: the other side
// pays for both with os::heavy_fence().
inline void compiler_fence() noexcept { asm volatile("" ::: "memory"); }

}  // namespace weft::detail
