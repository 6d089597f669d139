// context.h: saves one stack's registers and resumes another: the contract of each ABI's file.
//
// A context is three words: stack pointer, resume address, frame pointer. Callee-saved registers
// are on the stack, or dead. Two forms of the switch share this layout and can be mixed:
//
//   run_context_switch   Out of line, in assembly, with full unwind information. Pushes the ABI's
//                        callee-saved registers: an ordinary call. For sanitizers, LTO, other
//                        languages.
//   switch_context       Inline where the compiler permits (context_inline.h): only live registers
//                        are saved, about four times as fast. Elsewhere the first form.
//
// To resume a context, put its address in the second argument register and the baton in the third,
// then jump to pc. The code there loads sp, so either form works.
//
// Carried: callee-saved integer registers, sp, fp; on aarch64 d8-d15. Not carried: floating-point
// control words (per G on request, fp_control.h), signal mask, thread-locals. C++ exception state
// travels separately (eh_globals.h).
//
// Threads: the owner of both stacks.
// See:     docs/context_switch.md
#pragma once

#include <cstddef>

#include <weft/run/context.h>

extern "C" {

// Entry functions return to run_g_exit, which the scheduler defines.

// The first code of every context. Never called.
void run_context_entry(void);
}

static_assert(offsetof(run_context_t, sp) == 0, "the assembly files use these offsets");
static_assert(offsetof(run_context_t, pc) == 8, "the assembly files use these offsets");
static_assert(offsetof(run_context_t, fp) == 16, "the assembly files use these offsets");
