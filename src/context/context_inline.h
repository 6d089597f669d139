// context_inline.h: the switch as inline assembly that declares every register clobbered.
//
// The compiler then saves only live registers. The statement pushes nothing, because live values
// may be in the red zone. LTO might move it between functions, so LTO, sanitizers and other ABIs
// use the out-of-line form. rbp cannot be declared clobbered where it is the frame pointer, so the
// context carries it.
//
// Threads: as context.h; called only from noinline functions.
#pragma once

#include "context/context.h"

namespace weft::detail {

#if defined(__x86_64__) && defined(__linux__) && !defined(WEFT_FORCE_ASM_SWITCH) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define WEFT_INLINE_SWITCH 1
#elif !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define WEFT_INLINE_SWITCH 1
#endif
#endif

#if defined(WEFT_INLINE_SWITCH)

[[gnu::always_inline]] inline void* switch_context(run_context_t* from, run_context_t* to, void* baton) {
    asm volatile(
        "leaq 1f(%%rip), %%rax\n\t"
        "movq %%rsp, 0(%%rdi)\n\t"
        "movq %%rax, 8(%%rdi)\n\t"
        "movq %%rbp, 16(%%rdi)\n\t"
        "jmpq *8(%%rsi)\n"
        "1:\n\t"
        "endbr64\n\t"
        "movq 0(%%rsi), %%rsp\n\t"
        "movq 16(%%rsi), %%rbp\n\t"
        : "+D"(from), "+S"(to), "+d"(baton)
        :
        : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc", "xmm0", "xmm1",
          "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
          "xmm15"
#if defined(__AVX512F__)
          ,
          "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",
          "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#endif
    );
    return baton;
}

// Saves nothing: the context is never resumed.
[[noreturn, gnu::always_inline]] inline void leave_context(run_context_t* /*from*/, run_context_t* to, void* baton) {
    asm volatile("jmpq *8(%%rsi)" : : "S"(to), "d"(baton) : "memory");
    __builtin_unreachable();
}

#else

[[gnu::always_inline]] inline void* switch_context(run_context_t* from, run_context_t* to, void* baton) {
    return run_context_switch(from, to, baton);
}

[[noreturn, gnu::always_inline]] inline void leave_context(run_context_t* from, run_context_t* to, void* baton) {
    run_context_switch(from, to, baton);
    __builtin_unreachable();
}

#endif

}  // namespace weft::detail
