// context_windows_x86_64.S: the out-of-line switch for Windows.
//
// For its convention, and the thread information block (TIB) at gs, see docs/context_switch.md.
//
// run_context_init does not know a new context's lower bound. StackLimit is 0, so probes touch
// nothing: the stack's pages must exist, or the owner tell the bounds (stack_bounds.h).
// DeallocationStack is above all addresses: the system takes no guard page of this stack for one of
// its own, and a thread that ends there does not free the stack (os/headroom_windows.h).
// ExceptionList is not used on x86-64, but wine searches a list of its own there, whose elements
// below the stack pointer it takes for newer. So a new context has an empty list: all ones, or 0
// where the system leaves it 0.
//
// The frame at the base of a thread's own stack reports exceptions that no handler takes: it calls
// UnhandledExceptionFilter. The one at the base of a context does the same (run_unhandled).
// Otherwise the system would end the process without a word.
//
// Frame of a saved context:
//
//     +264  return address
//     +256  rbp
//     +248  rbx
//     +240  rdi
//     +232  rsi
//     +224  r12
//     +216  r13
//     +208  r14
//     +200  r15
//     +192  StackBase
//     +184  StackLimit
//     +176  DeallocationStack
//     +168  ExceptionList
//  sp ─▶ 0  xmm6 to xmm15, 8 bytes of padding
//
// The unwind directives (.seh_…) exist for COFF only, not in the ELF object that tests run on
// Linux.
//
// See: "x64 calling convention" and "x64 exception handling" in Microsoft's documentation.
#include "asm_names.h"

#if defined(_WIN32)
#define WEFT_SEH(...) __VA_ARGS__
#else
#define WEFT_SEH(...)
#endif

.set exception_list, 0x00
.set stack_base, 0x08
.set stack_limit, 0x10
.set deallocation_stack, 0x1478

WEFT_FUNCTION_BEGIN(run_context_switch)        // rcx from, rdx to, r8 baton
    WEFT_SEH(.seh_proc run_context_switch)
    endbr64
    pushq %rbp
    WEFT_SEH(.seh_pushreg %rbp)
    pushq %rbx
    WEFT_SEH(.seh_pushreg %rbx)
    pushq %rdi
    WEFT_SEH(.seh_pushreg %rdi)
    pushq %rsi
    WEFT_SEH(.seh_pushreg %rsi)
    pushq %r12
    WEFT_SEH(.seh_pushreg %r12)
    pushq %r13
    WEFT_SEH(.seh_pushreg %r13)
    pushq %r14
    WEFT_SEH(.seh_pushreg %r14)
    pushq %r15
    WEFT_SEH(.seh_pushreg %r15)
    pushq %gs:stack_base
    WEFT_SEH(.seh_stackalloc 8)
    pushq %gs:stack_limit
    WEFT_SEH(.seh_stackalloc 8)
    pushq %gs:deallocation_stack
    WEFT_SEH(.seh_stackalloc 8)
    pushq %gs:exception_list
    WEFT_SEH(.seh_stackalloc 8)
    subq $168, %rsp
    WEFT_SEH(.seh_stackalloc 168)
    movaps %xmm6, 0(%rsp)
    WEFT_SEH(.seh_savexmm %xmm6, 0)
    movaps %xmm7, 16(%rsp)
    WEFT_SEH(.seh_savexmm %xmm7, 16)
    movaps %xmm8, 32(%rsp)
    WEFT_SEH(.seh_savexmm %xmm8, 32)
    movaps %xmm9, 48(%rsp)
    WEFT_SEH(.seh_savexmm %xmm9, 48)
    movaps %xmm10, 64(%rsp)
    WEFT_SEH(.seh_savexmm %xmm10, 64)
    movaps %xmm11, 80(%rsp)
    WEFT_SEH(.seh_savexmm %xmm11, 80)
    movaps %xmm12, 96(%rsp)
    WEFT_SEH(.seh_savexmm %xmm12, 96)
    movaps %xmm13, 112(%rsp)
    WEFT_SEH(.seh_savexmm %xmm13, 112)
    movaps %xmm14, 128(%rsp)
    WEFT_SEH(.seh_savexmm %xmm14, 128)
    movaps %xmm15, 144(%rsp)
    WEFT_SEH(.seh_savexmm %xmm15, 144)
    WEFT_SEH(.seh_endprologue)
    leaq 1f(%rip), %rax
    movq %rsp, 0(%rcx)
    movq %rax, 8(%rcx)
    movq %rbp, 16(%rcx)
    jmpq *8(%rdx)
1:                                             // rdx our context, r8 the resumer's baton
    endbr64
    movq 0(%rdx), %rsp
    movq %r8, %rax
    movaps 0(%rsp), %xmm6
    movaps 16(%rsp), %xmm7
    movaps 32(%rsp), %xmm8
    movaps 48(%rsp), %xmm9
    movaps 64(%rsp), %xmm10
    movaps 80(%rsp), %xmm11
    movaps 96(%rsp), %xmm12
    movaps 112(%rsp), %xmm13
    movaps 128(%rsp), %xmm14
    movaps 144(%rsp), %xmm15
    addq $168, %rsp
    popq %gs:exception_list
    popq %gs:deallocation_stack
    popq %gs:stack_limit
    popq %gs:stack_base
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rsi
    popq %rdi
    popq %rbx
    popq %rbp
    popq %rcx
    jmpq *%rcx
    WEFT_SEH(.seh_endproc)
WEFT_FUNCTION_END(run_context_switch)

// For sp see context.cc. The unwinder reads the zero above run_g_exit as the return address.
WEFT_FUNCTION_BEGIN(run_context_entry)         // rdx our context, r8 the resumer's baton
    WEFT_SEH(.seh_proc run_context_entry)
    endbr64
    movq 0(%rdx), %rsp
    movq %gs:exception_list, %rax
    negq %rax
    sbbq %rax, %rax                            // all ones unless it is 0
    movq %rax, %gs:exception_list
    popq %rax                                  // entry
    popq %rcx                                  // argument
    leaq 16(%rsp), %rdx                        // the stack's top
    movq %rdx, %gs:stack_base
    movq $0, %gs:stack_limit
    movq $-1, %gs:deallocation_stack
    movq %r8, %rdx
    xorl %ebp, %ebp
    subq $32, %rsp                             // shadow space
    WEFT_SEH(.seh_stackalloc 40)
    WEFT_SEH(.seh_handler run_unhandled, @except)
    WEFT_SEH(.seh_endprologue)
    callq *%rax                                // rsp is 16-byte aligned here
    callq *32(%rsp)                            // run_g_exit, which does not return
    ud2
    WEFT_SEH(.seh_endproc)
WEFT_FUNCTION_END(run_context_entry)

// See call_on_stack_windows_x86_64.cc. While the function runs, the bounds cover all addresses,
// because the search for a handler of a fault passes frames on both stacks.
WEFT_FUNCTION_BEGIN(run_call_on_stack_no_throw)  // rcx top, rdx function, r8 argument
    WEFT_SEH(.seh_proc run_call_on_stack_no_throw)
    endbr64
    pushq %rbp
    WEFT_SEH(.seh_pushreg %rbp)
    movq %rsp, %rbp
    WEFT_SEH(.seh_setframe %rbp, 0)
    WEFT_SEH(.seh_endprologue)
    pushq %gs:stack_base
    pushq %gs:stack_limit
    pushq %gs:deallocation_stack
    pushq %gs:exception_list
    movq $-1, %gs:stack_base
    movq $0, %gs:stack_limit
    movq $-1, %gs:deallocation_stack
    movq %gs:exception_list, %rax
    negq %rax
    sbbq %rax, %rax
    movq %rax, %gs:exception_list
    andq $-16, %rcx
    leaq -32(%rcx), %rsp                       // shadow space
    movq %r8, %rcx
    callq *%rdx
    leaq -32(%rbp), %rsp
    popq %gs:exception_list
    popq %gs:deallocation_stack
    popq %gs:stack_limit
    popq %gs:stack_base
    popq %rbp
    retq
    WEFT_SEH(.seh_endproc)
WEFT_FUNCTION_END(run_call_on_stack_no_throw)

#include "elf_notes_x86_64.h"
