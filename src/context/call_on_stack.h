// call_on_stack.h: a call that runs on another stack of the same thread.
//
// Not a switch: the caller waits, on its own stack, until the function returns, and nothing is saved but the frame pointer. The
// function's frames continue the caller's: unwinding, and walks along frame pointers, pass from the other stack to the caller's, so
// an exception may leave the function and a backtrace shows both. Hardware shadow stacks see an ordinary call.
//
// The function may be left in the middle by a context switch and resumed on another thread, as any function may. Sanitizers,
// and whoever keeps the bounds of stacks, are not told: that is the caller's business (context/sanitizer.h).
//
// Invariants: what lies at and above top is never touched.
// Who: the owner of both stacks. See: docs/context_switch.md
#pragma once

extern "C" {

// Calls function(argument) with the stack pointer at top, rounded down to 16 bytes, and returns when it does.
void run_call_on_stack(void* top, void (*function)(void* argument), void* argument);
}
