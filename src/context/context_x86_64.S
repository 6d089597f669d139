// context_x86_64.S: the out-of-line switch for the System V ABI (Linux, macOS).
//
// Frame of a saved context: docs/context_switch.md. Both stacks have this layout, so the frame
// description stays valid while rsp changes. The last jump is pop + jmp, not ret, whose prediction
// is always wrong after a switch. (Hardware shadow stacks would need ret.)
#include "asm_names.h"

WEFT_FUNCTION_BEGIN(run_context_switch)        // rdi from, rsi to, rdx baton
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
    leaq 1f(%rip), %rax
    movq %rsp, 0(%rdi)
    movq %rax, 8(%rdi)
    movq %rbp, 16(%rdi)
    jmpq *8(%rsi)
1:                                             // rsi our context, rdx the resumer's baton
    endbr64
    movq 0(%rsi), %rsp
    movq %rdx, %rax
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
    popq %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rcx
    jmpq *%rcx
    .cfi_endproc
WEFT_FUNCTION_END(run_context_switch)

// For sp see context.cc. The undefined return address ends all unwinds.
WEFT_FUNCTION_BEGIN(run_context_entry)         // rsi our context, rdx the resumer's baton
    .cfi_startproc
    .cfi_undefined %rip
    .cfi_undefined %rbp
    endbr64
    movq 0(%rsi), %rsp
    popq %rax                                  // entry
    popq %rdi                                  // argument
    movq %rdx, %rsi
    xorl %ebp, %ebp
    callq *%rax                                // rsp is 16-byte aligned here
    callq *0(%rsp)                             // run_g_exit, which does not return
    ud2
    .cfi_endproc
WEFT_FUNCTION_END(run_context_entry)

// See call_on_stack.h. The frame record is on the caller's stack and rbp points to it, so unwinders
// cross over. Not a signal frame: unwinders would search handlers at the caller's pc instead of
// before it.
WEFT_FUNCTION_BEGIN(run_call_on_stack)         // rdi top, rsi function, rdx argument
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    andq $-16, %rdi
    movq %rdi, %rsp
    movq %rdx, %rdi
    callq *%rsi
    movq %rbp, %rsp
    popq %rbp
    .cfi_restore %rbp
    .cfi_def_cfa %rsp, 8
    retq
    .cfi_endproc
WEFT_FUNCTION_END(run_call_on_stack)

#if defined(__APPLE__)
    .subsections_via_symbols
#endif
#include "elf_notes_x86_64.h"
