// save_vectors_x86_64.h: for assembly: saves and restores all vector and x87 registers on the
// stack.
//
// Any register may be live, to its full width. The area is below rsp, which the macros leave
// 64-byte aligned, so their users need a frame pointer.
//
// Numbers are in brackets, because to an Apple assembler $1 is an argument of a macro. Include
// asm_names.h first.
//
// AMX tiles and protection keys are not saved: they stay in the thread, like the green thread.
#pragma once

// clang-format off: assembly to the end

#if defined(_WIN32)
#define WEFT_LOAD_VECTOR_FORM movl WEFT_SYMBOL(run_vector_form)(%rip), %ecx
#else
#define WEFT_LOAD_VECTOR_FORM movq WEFT_SYMBOL(run_vector_form)@GOTPCREL(%rip), %rcx WEFT_THEN movl (%rcx), %ecx
#endif

#define WEFT_VECTORS_MASK (0xe7)   // x87, SSE, AVX, three parts of AVX-512: at most 2,688 bytes
#define WEFT_VECTORS_SIZE (2752)

// Clobbers rax, rcx, rdx, flags.
.macro weft_save_vectors
    subq $WEFT_VECTORS_SIZE, %rsp
    andq $-64, %rsp
    xorl %eax, %eax
    movq %rax, 512(%rsp)                       // other header bytes must be zero
    movq %rax, 520(%rsp)
    movq %rax, 528(%rsp)
    movq %rax, 536(%rsp)
    movq %rax, 544(%rsp)
    movq %rax, 552(%rsp)
    movq %rax, 560(%rsp)
    movq %rax, 568(%rsp)
    WEFT_LOAD_VECTOR_FORM
    movl $WEFT_VECTORS_MASK, %eax
    xorl %edx, %edx
    cmpl $(1), %ecx
    je 91f
    jb 92f
    xsavec64 (%rsp)
    jmp 93f
91: xsave64 (%rsp)
    jmp 93f
92: fxsave64 (%rsp)
93:
.endm

// Requires: rsp as weft_save_vectors left it. Clobbers the same.
.macro weft_restore_vectors
    WEFT_LOAD_VECTOR_FORM
    movl $WEFT_VECTORS_MASK, %eax
    xorl %edx, %edx
    testl %ecx, %ecx
    jz 94f
    xrstor64 (%rsp)
    jmp 95f
94: fxrstor64 (%rsp)
95:
.endm
