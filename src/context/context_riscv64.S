// context_riscv64.S: the switch for the RISC-V calling convention with double-precision registers
// (lp64d, the one of all Linux distributions).
//
// A saved context has a frame of 208 bytes:
//
//     200  ra        the caller's frame ends above; ra and s0 are a frame record (frame_record.h)
//     192  s0
//     104  s1 to s11
//       8  fs0 to fs11
//       0  unused: the stack pointer stays a multiple of 16
//
// gp and tp belong to the program and the thread: no green thread changes them. Jumps to other code
// go through t2, which landing pads (Zicfilp) exempt.
#include "asm_names.h"

#if !defined(__riscv_float_abi_double)
#error "weft: only the calling convention lp64d is supported; compile with -mabi=lp64d"
#endif

WEFT_FUNCTION_BEGIN(run_context_switch)        // a0 from, a1 to, a2 baton
    .cfi_startproc
    addi sp, sp, -208
    .cfi_def_cfa_offset 208
    sd ra, 200(sp)
    .cfi_offset ra, -8
    sd s0, 192(sp)
    .cfi_offset s0, -16
    sd s1, 184(sp)
    .cfi_offset s1, -24
    sd s2, 176(sp)
    .cfi_offset s2, -32
    sd s3, 168(sp)
    .cfi_offset s3, -40
    sd s4, 160(sp)
    .cfi_offset s4, -48
    sd s5, 152(sp)
    .cfi_offset s5, -56
    sd s6, 144(sp)
    .cfi_offset s6, -64
    sd s7, 136(sp)
    .cfi_offset s7, -72
    sd s8, 128(sp)
    .cfi_offset s8, -80
    sd s9, 120(sp)
    .cfi_offset s9, -88
    sd s10, 112(sp)
    .cfi_offset s10, -96
    sd s11, 104(sp)
    .cfi_offset s11, -104
    fsd fs0, 96(sp)
    .cfi_offset fs0, -112
    fsd fs1, 88(sp)
    .cfi_offset fs1, -120
    fsd fs2, 80(sp)
    .cfi_offset fs2, -128
    fsd fs3, 72(sp)
    .cfi_offset fs3, -136
    fsd fs4, 64(sp)
    .cfi_offset fs4, -144
    fsd fs5, 56(sp)
    .cfi_offset fs5, -152
    fsd fs6, 48(sp)
    .cfi_offset fs6, -160
    fsd fs7, 40(sp)
    .cfi_offset fs7, -168
    fsd fs8, 32(sp)
    .cfi_offset fs8, -176
    fsd fs9, 24(sp)
    .cfi_offset fs9, -184
    fsd fs10, 16(sp)
    .cfi_offset fs10, -192
    fsd fs11, 8(sp)
    .cfi_offset fs11, -200
    lla t0, 1f
    sd sp, 0(a0)
    sd t0, 8(a0)
    sd s0, 16(a0)
    ld t2, 8(a1)
    jr t2
1:                                             // a1 our context, a2 the resumer's baton
    ld sp, 0(a1)
    mv a0, a2
    fld fs11, 8(sp)
    .cfi_restore fs11
    fld fs10, 16(sp)
    .cfi_restore fs10
    fld fs9, 24(sp)
    .cfi_restore fs9
    fld fs8, 32(sp)
    .cfi_restore fs8
    fld fs7, 40(sp)
    .cfi_restore fs7
    fld fs6, 48(sp)
    .cfi_restore fs6
    fld fs5, 56(sp)
    .cfi_restore fs5
    fld fs4, 64(sp)
    .cfi_restore fs4
    fld fs3, 72(sp)
    .cfi_restore fs3
    fld fs2, 80(sp)
    .cfi_restore fs2
    fld fs1, 88(sp)
    .cfi_restore fs1
    fld fs0, 96(sp)
    .cfi_restore fs0
    ld s11, 104(sp)
    .cfi_restore s11
    ld s10, 112(sp)
    .cfi_restore s10
    ld s9, 120(sp)
    .cfi_restore s9
    ld s8, 128(sp)
    .cfi_restore s8
    ld s7, 136(sp)
    .cfi_restore s7
    ld s6, 144(sp)
    .cfi_restore s6
    ld s5, 152(sp)
    .cfi_restore s5
    ld s4, 160(sp)
    .cfi_restore s4
    ld s3, 168(sp)
    .cfi_restore s3
    ld s2, 176(sp)
    .cfi_restore s2
    ld s1, 184(sp)
    .cfi_restore s1
    ld s0, 192(sp)
    .cfi_restore s0
    ld ra, 200(sp)
    .cfi_restore ra
    addi sp, sp, 208
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
WEFT_FUNCTION_END(run_context_switch)

// As in context_x86_64.S.
WEFT_FUNCTION_BEGIN(run_context_entry)         // a1 our context, a2 the resumer's baton
    .cfi_startproc
    .cfi_undefined ra
    .cfi_undefined s0
    ld sp, 0(a1)
    ld t2, 0(sp)                               // entry
    ld a0, 8(sp)                               // argument
    addi sp, sp, 16
    mv a1, a2
    li s0, 0
    jalr t2
    ld t2, 0(sp)                               // run_g_exit, which does not return
    jalr t2
    ebreak
    .cfi_endproc
WEFT_FUNCTION_END(run_context_entry)

// As in context_x86_64.S. The function's frame pointer is the stack pointer here, so 16 bytes below
// the top remain unused: a frame pointer lies on its own stack.
WEFT_FUNCTION_BEGIN(run_call_on_stack)         // a0 top, a1 function, a2 argument
    .cfi_startproc
    addi sp, sp, -16
    .cfi_def_cfa_offset 16
    sd ra, 8(sp)
    .cfi_offset ra, -8
    sd s0, 0(sp)
    .cfi_offset s0, -16
    addi s0, sp, 16
    .cfi_def_cfa s0, 0
    andi t0, a0, -16
    addi sp, t0, -16
    mv t2, a1
    mv a0, a2
    jalr t2
    addi sp, s0, -16
    .cfi_def_cfa sp, 16
    ld s0, 0(sp)
    .cfi_restore s0
    ld ra, 8(sp)
    .cfi_restore ra
    addi sp, sp, 16
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
WEFT_FUNCTION_END(run_call_on_stack)

    .section .note.GNU-stack, "", %progbits
