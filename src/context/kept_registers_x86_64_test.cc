// kept_registers_x86_64_test.cc: the callee-saved registers of the System V ABI.
#include "context/kept_registers.h"

extern "C" const char* const weft_kept_register_names = "rbx rbp r12 r13 r14 r15";

// The seed is at the frame's lowest place; register i holds seed + i.
asm(R"(
    .text
    .balign 16
    .globl weft_keep_registers
    .type weft_keep_registers, %function
weft_keep_registers:
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    pushq %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    pushq %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r13, 0
    pushq %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r14, 0
    pushq %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r15, 0
    subq $24, %rsp
    .cfi_adjust_cfa_offset 24
    movq %rdi, 0(%rsp)
    leaq 0(%rdi), %rbx
    leaq 1(%rdi), %rbp
    leaq 2(%rdi), %r12
    leaq 3(%rdi), %r13
    leaq 4(%rdi), %r14
    leaq 5(%rdi), %r15
    movq %rdx, %rdi
    callq *%rsi

    movq 0(%rsp), %rdx
    xorl %eax, %eax
    .macro weft_compare register, number
    leaq \number(%rdx), %rcx
    cmpq %rcx, \register
    setne %cl
    movzbl %cl, %ecx
    shll $\number, %ecx
    orl %ecx, %eax
    .endm
    weft_compare %rbx, 0
    weft_compare %rbp, 1
    weft_compare %r12, 2
    weft_compare %r13, 3
    weft_compare %r14, 4
    weft_compare %r15, 5
    addq $24, %rsp
    .cfi_adjust_cfa_offset -24
    popq %r15
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r15
    popq %r14
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r14
    popq %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r13
    popq %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    popq %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    popq %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    retq
    .cfi_endproc
    .size weft_keep_registers, .- weft_keep_registers
)");
