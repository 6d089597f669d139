// kept_registers_riscv64_test.cc: the callee-saved registers of RISC-V's calling convention lp64d.
#include "context/kept_registers.h"

extern "C" const char* const weft_kept_register_names =
    "s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 fs0 fs1 fs2 fs3 fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11";

// The seed is at the frame's lowest place; register i holds seed + i.
asm(R"(
    .text
    .balign 16
    .globl weft_keep_registers
    .type weft_keep_registers, %function
weft_keep_registers:
    .cfi_startproc
    addi sp, sp, -208
    .cfi_def_cfa_offset 208
    .macro weft_save register, at
    sd \register, \at(sp)
    .cfi_offset \register, \at - 208
    .endm
    .macro weft_save_f register, at
    fsd \register, \at(sp)
    .cfi_offset \register, \at - 208
    .endm
    weft_save ra, 200
    weft_save s0, 192
    weft_save s1, 184
    weft_save s2, 176
    weft_save s3, 168
    weft_save s4, 160
    weft_save s5, 152
    weft_save s6, 144
    weft_save s7, 136
    weft_save s8, 128
    weft_save s9, 120
    weft_save s10, 112
    weft_save s11, 104
    weft_save_f fs0, 96
    weft_save_f fs1, 88
    weft_save_f fs2, 80
    weft_save_f fs3, 72
    weft_save_f fs4, 64
    weft_save_f fs5, 56
    weft_save_f fs6, 48
    weft_save_f fs7, 40
    weft_save_f fs8, 32
    weft_save_f fs9, 24
    weft_save_f fs10, 16
    weft_save_f fs11, 8
    sd a0, 0(sp)
    .macro weft_fill_f register, number
    addi t0, a0, \number
    fmv.d.x \register, t0
    .endm
    addi s0, a0, 0
    addi s1, a0, 1
    addi s2, a0, 2
    addi s3, a0, 3
    addi s4, a0, 4
    addi s5, a0, 5
    addi s6, a0, 6
    addi s7, a0, 7
    addi s8, a0, 8
    addi s9, a0, 9
    addi s10, a0, 10
    addi s11, a0, 11
    weft_fill_f fs0, 12
    weft_fill_f fs1, 13
    weft_fill_f fs2, 14
    weft_fill_f fs3, 15
    weft_fill_f fs4, 16
    weft_fill_f fs5, 17
    weft_fill_f fs6, 18
    weft_fill_f fs7, 19
    weft_fill_f fs8, 20
    weft_fill_f fs9, 21
    weft_fill_f fs10, 22
    weft_fill_f fs11, 23
    mv t2, a1
    mv a0, a2
    jalr t2

    ld t0, 0(sp)
    li a0, 0
    .macro weft_compare register, number
    addi t1, t0, \number
    xor t1, t1, \register
    snez t1, t1
    slli t1, t1, \number
    or a0, a0, t1
    .endm
    .macro weft_compare_f register, number
    fmv.x.d t3, \register
    weft_compare t3, \number
    .endm
    weft_compare s0, 0
    weft_compare s1, 1
    weft_compare s2, 2
    weft_compare s3, 3
    weft_compare s4, 4
    weft_compare s5, 5
    weft_compare s6, 6
    weft_compare s7, 7
    weft_compare s8, 8
    weft_compare s9, 9
    weft_compare s10, 10
    weft_compare s11, 11
    weft_compare_f fs0, 12
    weft_compare_f fs1, 13
    weft_compare_f fs2, 14
    weft_compare_f fs3, 15
    weft_compare_f fs4, 16
    weft_compare_f fs5, 17
    weft_compare_f fs6, 18
    weft_compare_f fs7, 19
    weft_compare_f fs8, 20
    weft_compare_f fs9, 21
    weft_compare_f fs10, 22
    weft_compare_f fs11, 23
    fld fs0, 96(sp)
    fld fs1, 88(sp)
    fld fs2, 80(sp)
    fld fs3, 72(sp)
    fld fs4, 64(sp)
    fld fs5, 56(sp)
    fld fs6, 48(sp)
    fld fs7, 40(sp)
    fld fs8, 32(sp)
    fld fs9, 24(sp)
    fld fs10, 16(sp)
    fld fs11, 8(sp)
    ld s0, 192(sp)
    ld s1, 184(sp)
    ld s2, 176(sp)
    ld s3, 168(sp)
    ld s4, 160(sp)
    ld s5, 152(sp)
    ld s6, 144(sp)
    ld s7, 136(sp)
    ld s8, 128(sp)
    ld s9, 120(sp)
    ld s10, 112(sp)
    ld s11, 104(sp)
    ld ra, 200(sp)
    addi sp, sp, 208
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size weft_keep_registers, .- weft_keep_registers
)");
