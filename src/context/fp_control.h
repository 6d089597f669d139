// fp_control.h: the floating-point control words: rounding mode, exception masks, flush to zero.
//
// Only Gs with own_fp_control carry them: it would double a switch's cost. Others run with the
// default.
//
// Threads: the running thread.
#pragma once

#include <cstdint>

namespace weft::detail {

[[nodiscard]] inline uint64_t read_fp_control() noexcept {
#if defined(__x86_64__)
    uint32_t mxcsr = 0;
    uint16_t x87 = 0;
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
    return mxcsr | (uint64_t{x87} << 32);
#elif defined(__aarch64__)
    uint64_t fpcr = 0;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
#elif defined(__riscv_flen)
    uint64_t rounding = 0;  // all there is: exceptions set flags, and never trap
    asm volatile("frrm %0" : "=r"(rounding));
    return rounding;
#else
    return 0;
#endif
}

inline void write_fp_control([[maybe_unused]] uint64_t word) noexcept {
#if defined(__x86_64__)
    const auto mxcsr = static_cast<uint32_t>(word);
    const auto x87 = static_cast<uint16_t>(word >> 32);
    asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87));
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(word));
#elif defined(__riscv_flen)
    asm volatile("fsrm %0" : : "r"(word));
#endif
}

// A new thread's value.
[[nodiscard]] constexpr uint64_t default_fp_control() noexcept {
#if defined(__x86_64__)
    return 0x1F80 | (uint64_t{0x037F} << 32);
#else
    return 0;
#endif
}

}  // namespace weft::detail
