// call_at.h: a call whose frames lie on another stack of the same thread, made right where it is written.
//
// The problem. A call on another stack usually goes through a function of assembly that changes stacks, and returns through it. After a
// system call that return is dear: the kernel uses up what the CPU remembers of returns, so each one to a frame that was there before is
// mispredicted, 4 to 6 ns. So the change of stacks is part of the caller here, and the function's own return is the only one.
//
// The caller keeps a frame pointer (that its frame's address is asked for sees to it), by which unwinders find it whatever the stack pointer
// is; and the call is an ordinary one, so shadow stacks see a call and its return.
//
// Not everywhere: WEFT_CALL_AT says whether it is there. Sanitizers have to be told of changes of stacks, and where no table says which
// registers a call may change nobody has written it. There the library makes the call (run_call_on_stack).
//
// Invariants: what lies at and above top is never touched.
// Who: the owner of both stacks. See: docs/blocking.md
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(hwaddress_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define WEFT_CALL_AT 0
#endif
#endif
#if !defined(WEFT_CALL_AT)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEFT_CALL_AT 0
#elif defined(__x86_64__) && defined(__LP64__) && defined(__ELF__) && defined(__SSE2__) && defined(__MMX__) && \
    !defined(_SOFT_FLOAT) && !defined(__APX_F__)
#define WEFT_CALL_AT 1
#else
#define WEFT_CALL_AT 0  // another processor, or code for this one in which not all registers below have names
#endif
#endif

#if WEFT_CALL_AT

#if defined(__AVX512F__)
#define WEFT_CALL_AT_CHANGES_MORE                                                                                 \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
        "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define WEFT_CALL_AT_CHANGES_MORE
#endif

namespace weft::detail {

// Calls function(argument) with the stack pointer at top, which is a multiple of 16. (r12 keeps ours: rbx is a frame's second pointer to some
// compilers. Registers that only a function of its own target has keep nothing of weft's callers.)
[[gnu::always_inline]] inline void call_at(void* top,
                                           void (*function)(void* argument) noexcept,
                                           void* argument) noexcept {
    asm volatile(
        "movq %%rsp, %%r12\n\t"
        "movq %[top], %%rsp\n\t"
        "callq *%[function]\n\t"
        "movq %%r12, %%rsp"
        : "+D"(argument)
        : [top] "r"(top), [function] "r"(function), "r"(__builtin_frame_address(0))
        : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
          "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)",
          "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "mm0", "mm1", "mm2", "mm3", "mm4", "mm5", "mm6", "mm7", "cc",
          "memory" WEFT_CALL_AT_CHANGES_MORE);
}

}  // namespace weft::detail

#undef WEFT_CALL_AT_CHANGES_MORE
#endif
