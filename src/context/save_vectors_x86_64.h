// save_vectors_x86_64.h: for assembly files: all vector and x87 registers, to and from the stack.
//
// For code that is interrupted where the compiler does not expect a call: any of these registers may hold something, up to the
// widest. XSAVEC where the processor has it, else XSAVE, else FXSAVE: run_vector_form says which, vector_state_x86_64.cc finds out.
// The area is below rsp, which the macros leave 64-byte aligned: whoever uses them has a frame pointer to come back by.
//
// Not saved: AMX tiles and protection keys. Both stay in the thread, and an interrupted green thread is kept on its own.
#pragma once

// clang-format off: assembly to the end

#define WEFT_VECTORS_MASK 0xe7   // x87, SSE, AVX, and three parts of AVX-512: at most 2,688 bytes in either layout
#define WEFT_VECTORS_SIZE 2752

// Clobbers rax, rcx, rdx, flags.
.macro weft_save_vectors
    subq $WEFT_VECTORS_SIZE, %rsp
    andq $-64, %rsp
    xorl %eax, %eax
    movq %rax, 512(%rsp)                       // the header has to be zero, but for what is written
    movq %rax, 520(%rsp)
    movq %rax, 528(%rsp)
    movq %rax, 536(%rsp)
    movq %rax, 544(%rsp)
    movq %rax, 552(%rsp)
    movq %rax, 560(%rsp)
    movq %rax, 568(%rsp)
    movq run_vector_form@GOTPCREL(%rip), %rcx
    movl (%rcx), %ecx
    movl $WEFT_VECTORS_MASK, %eax
    xorl %edx, %edx
    cmpl $1, %ecx
    je 91f
    jb 92f
    xsavec64 (%rsp)
    jmp 93f
91: xsave64 (%rsp)
    jmp 93f
92: fxsave64 (%rsp)
93:
.endm

// Requires: rsp is where weft_save_vectors left it. Clobbers rax, rcx, rdx, flags.
.macro weft_restore_vectors
    movq run_vector_form@GOTPCREL(%rip), %rcx
    movl (%rcx), %ecx
    movl $WEFT_VECTORS_MASK, %eax
    xorl %edx, %edx
    testl %ecx, %ecx
    jz 94f
    xrstor64 (%rsp)
    jmp 95f
94: fxrstor64 (%rsp)
95:
.endm
