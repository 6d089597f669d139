// call_at.h: a call whose frames lie on another stack of the same thread, and which comes back without a return.
//
// The problem. A call on another stack usually goes through a function of assembly that changes stacks, and returns through it. After a
// system call that return is dear: the kernel uses up what the CPU remembers of returns, so each one to a frame that was there before is
// mispredicted, 4 to 8 ns on the CPUs that were measured. So the change of stacks is part of the caller here, and the way back is a jump to
// an address that lies in memory. Jumps are predicted by where they went last time, which no system call forgets.
//
//     caller  call_at:  notes its sp, bp, bx and where it goes on; sp = top; pushes where it goes on, as a call would; jumps
//     callee            does its work, with ordinary calls and returns
//             go_back:  takes sp, bp and bx from the note; jumps
//
// What is on the shadow stack, or in the CPU's memory of returns, is the same before and after: there is no call and no return. The caller
// keeps a frame pointer (that its frame's address is asked for sees to it), by which unwinders find it whatever the stack pointer is, and the
// address that was pushed shows them where.
//
// Not everywhere: WEFT_CALL_AT says whether it is there. Sanitizers have to be told of changes of stacks, and where no table says which
// registers a call may change nobody has written it. There the library makes the call (run_call_on_stack).
//
// Rejected. An ordinary call, and the callee's return: the one return that is left costs as much as all the rest of a declared call.
// Notes of all registers that a callee keeps: the compiler knows best which of them hold something.
//
// Invariants: what lies at and above top is never touched. Who was called by call_at ends with go_back, and throws nothing.
// Who: the owner of both stacks. See: docs/blocking.md
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
#define WEFT_CALL_AT 0  // another processor, or code for this one in which not all registers below have names
#endif
#endif

namespace weft::detail {

// Where the caller of call_at goes on. Everywhere, or types that hold one would differ between parts of a program.
struct way_back {
    void* sp;
    void* bp;  // the frame pointer of the caller
    void* bx;  // a frame's second pointer, to some compilers
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

// Calls function(from) with the stack pointer at top, which is a multiple of 16. It has to end with go_back(from). (What is kept by
// callees and is not in way_back counts as changed. Registers that only a function of its own target has keep nothing of weft's callers.)
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

// The end of what call_at has called. Nothing that has to be destroyed may be left in its frame. (As before a return, wide vectors are
// cleared: not all compilers do it before a piece of assembly.)
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
