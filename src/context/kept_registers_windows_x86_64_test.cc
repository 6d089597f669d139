// kept_registers_windows_x86_64_test.cc: the registers that a function must keep on Windows.
#include "context/kept_registers.h"

extern "C" const char* const weft_kept_register_names =
    "rbx rbp rdi rsi r12 r13 r14 r15 xmm6 xmm7 xmm8 xmm9 xmm10 xmm11 xmm12 xmm13 xmm14 xmm15";

// Register i holds seed + i, in both halves if it has two. The frame: 32 bytes for the called
// function, the seed, the caller's xmm registers.
asm(R"(
    .text
    .balign 16
    .globl weft_keep_registers
    .def weft_keep_registers; .scl 2; .type 32; .endef
    .seh_proc weft_keep_registers
weft_keep_registers:
    pushq %rbp
    .seh_pushreg %rbp
    pushq %rbx
    .seh_pushreg %rbx
    pushq %rdi
    .seh_pushreg %rdi
    pushq %rsi
    .seh_pushreg %rsi
    pushq %r12
    .seh_pushreg %r12
    pushq %r13
    .seh_pushreg %r13
    pushq %r14
    .seh_pushreg %r14
    pushq %r15
    .seh_pushreg %r15
    subq $216, %rsp
    .seh_stackalloc 216
    .irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps %xmm\n, 48 + (\n - 6) * 16(%rsp)
    .seh_savexmm %xmm\n, 48 + (\n - 6) * 16
    .endr
    .seh_endprologue
    movq %rcx, 32(%rsp)
    leaq 0(%rcx), %rbx
    leaq 1(%rcx), %rbp
    leaq 2(%rcx), %rdi
    leaq 3(%rcx), %rsi
    leaq 4(%rcx), %r12
    leaq 5(%rcx), %r13
    leaq 6(%rcx), %r14
    leaq 7(%rcx), %r15
    .irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    leaq 2 + \n(%rcx), %rax
    movq %rax, %xmm\n
    punpcklqdq %xmm\n, %xmm\n
    .endr
    movq %r8, %rcx
    callq *%rdx

    movq 32(%rsp), %r8
    xorl %eax, %eax
    .macro weft_compare register, number
    leaq \number(%r8), %r9
    cmpq %r9, \register
    setne %cl
    movzbl %cl, %ecx
    shll $\number, %ecx
    orl %ecx, %eax
    .endm
    weft_compare %rbx, 0
    weft_compare %rbp, 1
    weft_compare %rdi, 2
    weft_compare %rsi, 3
    weft_compare %r12, 4
    weft_compare %r13, 5
    weft_compare %r14, 6
    weft_compare %r15, 7
    movq %xmm6, %r10
    weft_compare %r10, 8
    punpckhqdq %xmm6, %xmm6
    movq %xmm6, %r10
    weft_compare %r10, 8
    movq %xmm7, %r10
    weft_compare %r10, 9
    punpckhqdq %xmm7, %xmm7
    movq %xmm7, %r10
    weft_compare %r10, 9
    movq %xmm8, %r10
    weft_compare %r10, 10
    punpckhqdq %xmm8, %xmm8
    movq %xmm8, %r10
    weft_compare %r10, 10
    movq %xmm9, %r10
    weft_compare %r10, 11
    punpckhqdq %xmm9, %xmm9
    movq %xmm9, %r10
    weft_compare %r10, 11
    movq %xmm10, %r10
    weft_compare %r10, 12
    punpckhqdq %xmm10, %xmm10
    movq %xmm10, %r10
    weft_compare %r10, 12
    movq %xmm11, %r10
    weft_compare %r10, 13
    punpckhqdq %xmm11, %xmm11
    movq %xmm11, %r10
    weft_compare %r10, 13
    movq %xmm12, %r10
    weft_compare %r10, 14
    punpckhqdq %xmm12, %xmm12
    movq %xmm12, %r10
    weft_compare %r10, 14
    movq %xmm13, %r10
    weft_compare %r10, 15
    punpckhqdq %xmm13, %xmm13
    movq %xmm13, %r10
    weft_compare %r10, 15
    movq %xmm14, %r10
    weft_compare %r10, 16
    punpckhqdq %xmm14, %xmm14
    movq %xmm14, %r10
    weft_compare %r10, 16
    movq %xmm15, %r10
    weft_compare %r10, 17
    punpckhqdq %xmm15, %xmm15
    movq %xmm15, %r10
    weft_compare %r10, 17
    .irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps 48 + (\n - 6) * 16(%rsp), %xmm\n
    .endr
    addq $216, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rsi
    popq %rdi
    popq %rbx
    popq %rbp
    retq
    .seh_endproc
)");
