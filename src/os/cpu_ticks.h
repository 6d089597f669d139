// cpu_ticks.h: the CPU's own counter: half the cost of the clock, used only to skip clock reads.
//
// Its rate need not be known: at worst a P reads the real clock a few times too often or too
// seldom. The instruction must be inline, so it is an #if here, not a file for each processor.
//
// Threads: any thread.
#pragma once

#include <cstdint>

#include "os/os.h"

namespace weft::detail::os {

// Ticks for about 20 µs.
inline constexpr uint64_t clock_interval = 1 << 16;

[[nodiscard]] inline uint64_t cpu_ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks * 64;  // the counter runs at 24 to 1000 MHz
#elif defined(__riscv)
    uint64_t ticks = 0;
    asm volatile("rdtime %0" : "=r"(ticks));
    return ticks * 256;  // the counter runs at 1 to 30 MHz
#else
    return static_cast<uint64_t>(monotonic_ns());
#endif
}

}  // namespace weft::detail::os
