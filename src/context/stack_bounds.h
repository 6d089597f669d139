// stack_bounds.h: tells the system on which stack the calling thread runs, where it must know.
//
// On Windows the thread information block has the bounds: the unwinder refuses frames outside of
// them, and probes of large frames begin at the lower one. Each context keeps its own
// (context_windows_x86_64.S). Other systems need not know.
//
// Threads: the owner of the stack, on it.
#pragma once

namespace weft::detail {

#if defined(_WIN32)
inline constexpr bool knows_stack_bounds = true;
#else
inline constexpr bool knows_stack_bounds = false;
#endif

// low: the lowest byte that the stack may use without a fault.
[[gnu::always_inline]] inline void tell_stack_bounds([[maybe_unused]] const void* low,
                                                     [[maybe_unused]] const void* high) noexcept {
#if defined(_WIN32) && defined(__x86_64__)
    asm volatile("movq %0, %%gs:0x10\n\tmovq %1, %%gs:0x08" : : "r"(low), "r"(high) : "memory");
#endif
}

}  // namespace weft::detail
