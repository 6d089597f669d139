// cpu_ticks.h: the CPU's own counter: half the price of the clock, and only good for "not yet time to look at the clock".
//
// Its rate is not known and need not be: at worst a P looks at the real clock a few times more or less often than every 20 µs.
// The difference between processors is one instruction, which has to be inline; so it is an #if here, as in cpu_relax, and not
// a file each.
//
// Who: any thread.
#pragma once

#include <cstdint>

#include "os/os.h"

namespace weft::detail::os {

// Ticks between two looks at the clock: about 20 µs.
inline constexpr uint64_t clock_interval = 1 << 16;

[[nodiscard]] inline uint64_t cpu_ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks * 64;  // the counter runs at 24 to 1000 MHz
#else
    return static_cast<uint64_t>(monotonic_ns());
#endif
}

}  // namespace weft::detail::os
