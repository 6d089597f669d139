// kept_registers_aarch64_test.cc: the callee-saved registers of the AArch64 ABI.
#include "context/kept_registers.h"

extern "C" const char* const weft_kept_register_names =
    "x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 d8 d9 d10 d11 d12 d13 d14 d15";

// The seed is at the frame's highest place; register i holds seed + i.
asm(R"(
    .text
    .balign 16
    .globl weft_keep_registers
    .type weft_keep_registers, %function
weft_keep_registers:
    .cfi_startproc
    hint #34
    stp x29, x30, [sp, #-176]!
    .cfi_def_cfa_offset 176
    .cfi_offset x29, -176
    .cfi_offset x30, -168
    .macro weft_save first, second, at
    stp \first, \second, [sp, #\at]
    .cfi_offset \first, \at - 176
    .cfi_offset \second, \at - 168
    .endm
    weft_save x19, x20, 16
    weft_save x21, x22, 32
    weft_save x23, x24, 48
    weft_save x25, x26, 64
    weft_save x27, x28, 80
    weft_save d8, d9, 96
    weft_save d10, d11, 112
    weft_save d12, d13, 128
    weft_save d14, d15, 144
    str x0, [sp, #160]
    .macro weft_fill_d register, number
    add x9, x0, #\number
    fmov \register, x9
    .endm
    add x19, x0, #0
    add x20, x0, #1
    add x21, x0, #2
    add x22, x0, #3
    add x23, x0, #4
    add x24, x0, #5
    add x25, x0, #6
    add x26, x0, #7
    add x27, x0, #8
    add x28, x0, #9
    add x29, x0, #10
    weft_fill_d d8, 11
    weft_fill_d d9, 12
    weft_fill_d d10, 13
    weft_fill_d d11, 14
    weft_fill_d d12, 15
    weft_fill_d d13, 16
    weft_fill_d d14, 17
    weft_fill_d d15, 18
    mov x9, x1
    mov x0, x2
    blr x9

    ldr x9, [sp, #160]
    mov x0, #0
    .macro weft_compare register, number
    add x10, x9, #\number
    cmp \register, x10
    cset x11, ne
    orr x0, x0, x11, lsl #\number
    .endm
    .macro weft_compare_d register, number
    fmov x12, \register
    weft_compare x12, \number
    .endm
    weft_compare x19, 0
    weft_compare x20, 1
    weft_compare x21, 2
    weft_compare x22, 3
    weft_compare x23, 4
    weft_compare x24, 5
    weft_compare x25, 6
    weft_compare x26, 7
    weft_compare x27, 8
    weft_compare x28, 9
    weft_compare x29, 10
    weft_compare_d d8, 11
    weft_compare_d d9, 12
    weft_compare_d d10, 13
    weft_compare_d d11, 14
    weft_compare_d d12, 15
    weft_compare_d d13, 16
    weft_compare_d d14, 17
    weft_compare_d d15, 18
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldp x29, x30, [sp], #176
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size weft_keep_registers, .- weft_keep_registers
)");
