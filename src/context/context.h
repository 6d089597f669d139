// context.h: saving one stack's registers and continuing another: the contract every ABI file fulfils.
//
// A context is three words: stack pointer, where to continue, frame pointer. The registers a callee must preserve are
// on the stack itself, or are dead. Two forms of the switch share that layout and may be mixed freely:
//
//   run_context_switch   out of line, in assembly, with complete unwind information. Pushes all callee-saved registers of
//                        the ABI, so it is an ordinary call for the compiler. Sanitizers, LTO and other languages use it.
//   switch_context       inline (context_inline.h), where the compiler allows: declares every register clobbered, so that the
//                        compiler saves only what is live. About four times as fast. Elsewhere it is the other form.
//
// To resume a context: put its address in the second argument register, the baton in the third, and jump to pc. The code
// at pc loads sp itself. So a context does not care which form resumes it.
//
// Carried: callee-saved integer registers, sp, fp; on aarch64 also d8-d15. Not carried: the floating-point control words (per G
// on request, fp_control.h), signal mask, thread-locals; the C++ exception state travels separately (eh_globals.h).
//
// Who: the owner of both stacks. See: docs/context_switch.md
#pragma once

#include <cstddef>

#include <weft/run/context.h>

extern "C" {

// (run_g_exit, where entry functions return to, is defined by the scheduler.)

// First code of every context; not for calling.
void run_context_entry(void);
}

static_assert(offsetof(run_context_t, sp) == 0, "the assembly files know these offsets");
static_assert(offsetof(run_context_t, pc) == 8, "the assembly files know these offsets");
static_assert(offsetof(run_context_t, fp) == 16, "the assembly files know these offsets");
