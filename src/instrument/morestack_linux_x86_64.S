// morestack_linux_x86_64.S: the slow path of -fsplit-stack prologues, taken when the preempt word is set.
//
// GCC's prologue:
//
//      cmpq %fs:0x70, %rsp; jb slow
//      slow: movl $frame, %r10d; movl $arguments, %r11d; call __morestack; ret; jmp body
//
// The word is 0 unless this thread's green thread is asked to yield, so the slow path is rare and
// may be slow. Stacks are not split: the hook runs, and the body continues on the same stack.
//
//      at __morestack     (rsp)   the ret after the call: one byte, skipped at the end
//                        8(rsp)   the caller's return address
//      kept               every register that may hold an argument: rdi rsi rdx rcx r8 r9, full-width vectors,
//                         rax (their number, or the static chain); r10
//      set                r11 = rsp at the entry + 16: where the prologue then looks for arguments on the stack
//
// All symbols of prologues are defined here; otherwise the linker takes libgcc's file of the same
// names, and both clash. For calls from instrumented into other code, ld.bfd changes nothing; gold
// and lld redirect them to __morestack_non_split, which works too.
#include "context/asm_names.h"
#include "context/save_vectors_x86_64.h"

    .hidden __morestack
    .hidden __morestack_non_split
    .hidden __morestack_allocate_stack_space

WEFT_FUNCTION_BEGIN(__morestack_non_split)     // reached by functions that did not check the word
    .cfi_startproc
    endbr64
    cmpq $0, %fs:0x70
    jne __morestack
    leaq 16(%rsp), %r11
    incq (%rsp)
    retq
    .cfi_endproc
WEFT_FUNCTION_END(__morestack_non_split)

WEFT_FUNCTION_BEGIN(__morestack)
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %rax
    pushq %r10
    weft_save_vectors
    callq run_preempt_hook@PLT
    weft_restore_vectors
    leaq 24(%rbp), %r11
    leaq -64(%rbp), %rsp
    popq %r10
    popq %rax
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    popq %rbp
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    incq (%rsp)
    retq
    .cfi_endproc
WEFT_FUNCTION_END(__morestack)

// alloca when the word is set: rdi bytes on the stack, returned in rax. Below is room for stack
// arguments of the caller.
WEFT_FUNCTION_BEGIN(__morestack_allocate_stack_space)
    .cfi_startproc
    endbr64
    popq %rdx
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rdx
    addq $(15 + 256), %rdi
    andq $-16, %rdi
    subq %rdi, %rsp
    leaq 256(%rsp), %rax
    jmpq *%rdx
    .cfi_endproc
WEFT_FUNCTION_END(__morestack_allocate_stack_space)

    .section .init_array, "aw"
    .p2align 3
    .quad run_preempt_announce

#include "context/elf_notes_x86_64.h"
