// interrupt_posix_x86_64.S: see interrupt.h.
//
// At entry (rsp) is the interrupted pc, and 8(rsp) to 136(rsp) the red zone of the interrupted
// function. All registers and flags are live.
#include "asm_names.h"
#include "save_vectors_x86_64.h"

#define RED_ZONE 128

WEFT_FUNCTION_BEGIN(run_interrupt_entry)
    .cfi_startproc
    .cfi_signal_frame                          // the pc below is an instruction's, not one after a call
    .cfi_def_cfa %rsp, RED_ZONE + 8
    .cfi_offset %rip, -(RED_ZONE + 8)
    endbr64
    pushfq
    .cfi_adjust_cfa_offset 8
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rbp, -(RED_ZONE + 24)
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11                                 // the callee preserves the others
    cld
    weft_save_vectors
    fninit                                     // the callee may expect an empty x87 stack
    callq WEFT_CALLED(run_interrupted)
    weft_restore_vectors
    leaq -72(%rbp), %rsp
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    popq %rbp
    .cfi_def_cfa %rsp, RED_ZONE + 16
    .cfi_restore %rbp
    popfq
    .cfi_adjust_cfa_offset -8
    retq $RED_ZONE
    .cfi_endproc
WEFT_FUNCTION_END(run_interrupt_entry)

#include "elf_notes_x86_64.h"
