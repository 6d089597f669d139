// call_at.h: calls a function on another stack of the same thread and comes back without a return.
//
// Problem. A call on another stack usually goes through an assembly function that changes stacks
// and returns. After a system call that return is expensive: the kernel uses up the CPU's return
// predictions, so each return to an older frame is mispredicted. That costs 4 to 8 ns on the
// measured CPUs. So the caller changes stacks inline, and the way back is a jump to an address in
// memory. Jumps are predicted by their last target, which a system call does not disturb.
//
//     caller  call_at:  saves sp, bp, bx and the resume address; sp = top; pushes the resume
//                       address, as a call would; jumps
//     callee            does its work, with ordinary calls and returns
//             go_back:  restores sp, bp and bx; jumps
//
// Without a call and a return, the shadow stack and the return predictor stay unchanged. The caller
// keeps a frame pointer (taking its frame's address forces that). Unwinders find the frame by it,
// whatever the stack pointer is, and use the pushed address.
//
// WEFT_CALL_AT tells whether call_at is available. Sanitizers must be told of stack changes, and on
// other processors no table says which registers a call may change. There the library makes the
// call (run_call_on_stack).
//
// Rejected: An ordinary call, with a return in the callee. That one return costs as much as the
//           rest of a blocking call.
// Rejected: Saving all callee-saved registers. The compiler knows best which of them hold a value.
//
// Invariants: Memory at and above top is never touched. A function called by call_at ends with
//             go_back and does not throw.
// Threads: the owner of both stacks.
// See: docs/blocking.md
#pragma once

#include <weft/detail/require.h>

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
#define WEFT_CALL_AT 0  // other processors, or code for this one in which some registers below have no names
#endif
#endif

namespace weft::detail {

// Where the caller of call_at resumes. Defined in every build, so that types that hold one have the
// same layout in all parts of a program.
struct way_back {
    void* sp;
    void* bp;  // the caller's frame pointer
    void* bx;  // some compilers use it as a second frame pointer
    const void* at;
};

}  // namespace weft::detail

#if WEFT_CALL_AT

#if defined(__AVX512F__)
#define WEFT_CALL_AT_CHANGES_MORE                                                                                 \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
        "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define WEFT_CALL_AT_CHANGES_MORE
#endif

namespace weft::detail {

// Calls function(from) with the stack pointer at top. Requires: top is a multiple of 16, and
// function ends with go_back(from). (Callee-saved registers outside way_back count as clobbered.
// Registers that only functions with a target of their own use hold nothing of weft's callers.)
[[gnu::always_inline, gnu::no_instrument_function]] inline void call_at(void* top,
                                                                        void (*function)(way_back* from) noexcept,
                                                                        way_back* from) noexcept {
    void* frame = __builtin_frame_address(0);
    asm volatile(
        "leaq 1f(%%rip), %%rcx\n\t"
        "movq %%rsp, (%%rdi)\n\t"
        "movq %%rbp, 8(%%rdi)\n\t"
        "movq %%rbx, 16(%%rdi)\n\t"
        "movq %%rcx, 24(%%rdi)\n\t"
        "movq %%rax, %%rsp\n\t"
        "pushq %%rcx\n\t"
        "jmpq *%%rdx\n\t"
        "1:\n\t"
        "endbr64"
        : "+D"(from), "+a"(top), "+d"(function), "+S"(frame)
        :
        : "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
          "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)",
          "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "mm0", "mm1", "mm2", "mm3", "mm4", "mm5", "mm6", "mm7", "cc",
          "memory" WEFT_CALL_AT_CHANGES_MORE);
}

// Ends a function that call_at has called. Requires: its frame holds nothing that must be
// destroyed. (Clears wide vectors as before a return, because not all compilers do that before
// inline assembly.)
[[noreturn, gnu::always_inline, gnu::no_instrument_function]] inline void go_back(way_back* to) noexcept {
    asm volatile(
#if defined(__AVX__)
        "vzeroupper\n\t"
#endif
        "movq (%%rdi), %%rsp\n\t"
        "movq 8(%%rdi), %%rbp\n\t"
        "movq 16(%%rdi), %%rbx\n\t"
        "jmpq *24(%%rdi)"
        :
        : "D"(to)
        : "memory");
    __builtin_unreachable();
}

}  // namespace weft::detail

#undef WEFT_CALL_AT_CHANGES_MORE
#endif
