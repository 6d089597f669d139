// interrupt_windows_x86_64.S: see interrupt.h.
//
// There is no red zone. The directives describe run_diverted as a function that the interrupted code
// has called, so backtraces go on in that code. Exceptions do not pass through it.
#include "asm_names.h"
#include "save_vectors_x86_64.h"

.set shadow_space, 32

WEFT_FUNCTION_BEGIN(run_diverted)
    .seh_proc run_diverted
    pushfq
    .seh_stackalloc 8
    pushq %rbp
    .seh_pushreg %rbp
    movq %rsp, %rbp
    .seh_setframe %rbp, 0
    .seh_endprologue
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11                                 // the callee preserves the others
    cld
    weft_save_vectors
    fninit                                     // the callee may expect an empty x87 stack
    leaq 24(%rbp), %rcx                        // above the saved rbp, the flags and the pc
    subq $shadow_space, %rsp
    callq run_handle_diverted
    addq $shadow_space, %rsp
    weft_restore_vectors
    leaq -56(%rbp), %rsp
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdx
    popq %rcx
    popq %rax
    popq %rbp
    popfq
    retq
    .seh_endproc
WEFT_FUNCTION_END(run_diverted)

// Called by the handler, with all registers saved.
WEFT_FUNCTION_BEGIN(run_interrupt_entry)
    jmp run_interrupted
WEFT_FUNCTION_END(run_interrupt_entry)
