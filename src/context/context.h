// context.h: the contract of each ABI's switch.
//
// A context is three words: stack pointer, resume address, frame pointer. Two forms of the switch
// share this layout and can be mixed: run_context_switch, and the inline switch_context, which is
// about four times as fast.
//
// To resume a context, put its address in the second argument register and the baton in the third,
// then jump to pc. The code there loads sp.
//
// C++ exception state and floating-point control are separate: eh_globals.h, fp_control.h.
//
// Threads: the owner of both stacks.
// See:     docs/context_switch.md
#pragma once

#include <cstddef>

#include <weft/run/context.h>

extern "C" {

// Entry functions return to the scheduler's run_g_exit.

// The first code of every context. Never called.
void run_context_entry(void);
}

static_assert(offsetof(run_context_t, sp) == 0, "the assembly files use these offsets");
static_assert(offsetof(run_context_t, pc) == 8, "the assembly files use these offsets");
static_assert(offsetof(run_context_t, fp) == 16, "the assembly files use these offsets");
