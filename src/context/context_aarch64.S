// context_aarch64.S: the switch for the AArch64 procedure call standard (Linux, macOS).
//
// A saved context has a frame of 160 bytes, which the stp instructions below fill. The resume
// points accept an indirect jump under BTI (hint #36, #38).
#include "asm_names.h"

WEFT_FUNCTION_BEGIN(run_context_switch)        // x0 from, x1 to, x2 baton
    .cfi_startproc
    hint #34                                   // bti c
    stp x29, x30, [sp, #-160]!
    .cfi_def_cfa_offset 160
    .cfi_offset x29, -160
    .cfi_offset x30, -152
    stp x19, x20, [sp, #16]
    .cfi_offset x19, -144
    .cfi_offset x20, -136
    stp x21, x22, [sp, #32]
    .cfi_offset x21, -128
    .cfi_offset x22, -120
    stp x23, x24, [sp, #48]
    .cfi_offset x23, -112
    .cfi_offset x24, -104
    stp x25, x26, [sp, #64]
    .cfi_offset x25, -96
    .cfi_offset x26, -88
    stp x27, x28, [sp, #80]
    .cfi_offset x27, -80
    .cfi_offset x28, -72
    stp d8, d9, [sp, #96]
    .cfi_offset d8, -64
    .cfi_offset d9, -56
    stp d10, d11, [sp, #112]
    .cfi_offset d10, -48
    .cfi_offset d11, -40
    stp d12, d13, [sp, #128]
    .cfi_offset d12, -32
    .cfi_offset d13, -24
    stp d14, d15, [sp, #144]
    .cfi_offset d14, -16
    .cfi_offset d15, -8
    adr x9, 1f
    mov x10, sp
    stp x10, x9, [x0]
    str x29, [x0, #16]
    ldr x9, [x1, #8]
    br x9
1:                                             // x1 our context, x2 the resumer's baton
    hint #36                                   // bti j
    ldr x9, [x1]
    mov sp, x9
    mov x0, x2
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldp x29, x30, [sp], #160
    .cfi_restore x19
    .cfi_restore x20
    .cfi_restore x21
    .cfi_restore x22
    .cfi_restore x23
    .cfi_restore x24
    .cfi_restore x25
    .cfi_restore x26
    .cfi_restore x27
    .cfi_restore x28
    .cfi_restore d8
    .cfi_restore d9
    .cfi_restore d10
    .cfi_restore d11
    .cfi_restore d12
    .cfi_restore d13
    .cfi_restore d14
    .cfi_restore d15
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
WEFT_FUNCTION_END(run_context_switch)

// As in context_x86_64.S.
WEFT_FUNCTION_BEGIN(run_context_entry)         // x1 our context, x2 the resumer's baton
    .cfi_startproc
    .cfi_undefined x30
    .cfi_undefined x29
    hint #38                                   // bti jc
    ldr x9, [x1]
    mov sp, x9
    ldp x9, x0, [sp], #16                      // entry, argument
    mov x1, x2
    mov x29, xzr
    blr x9
    ldr x9, [sp]                               // run_g_exit, which does not return
    blr x9
    brk #1
    .cfi_endproc
WEFT_FUNCTION_END(run_context_entry)

// As in context_x86_64.S.
WEFT_FUNCTION_BEGIN(run_call_on_stack)         // x0 top, x1 function, x2 argument
    .cfi_startproc
    hint #34                                   // bti c
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    and x9, x0, #-16
    mov sp, x9
    mov x0, x2
    blr x1
    mov sp, x29
    ldp x29, x30, [sp], #16
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa sp, 0
    ret
    .cfi_endproc
WEFT_FUNCTION_END(run_call_on_stack)

#if defined(__APPLE__)
    .subsections_via_symbols
#elif defined(__ELF__)
    .section .note.GNU-stack, "", %progbits
    .section .note.gnu.property, "a"           // BTI: every indirect target above accepts it
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000000, 4, 1, 0
#endif
