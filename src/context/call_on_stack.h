// call_on_stack.h: a call on another stack of the same thread.
//
// This is a call, not a switch: the caller waits on its own stack, and only the frame pointer is
// saved. Unwinding and frame-pointer walks pass from the function's frames to the caller's, so
// exceptions may leave the function and a backtrace shows both stacks. Hardware shadow stacks see
// an ordinary call.
//
// As in any function, a context switch inside may resume on another thread. The caller must inform
// sanitizers (context/sanitizer.h) and any code that tracks stack bounds.
//
// Invariants: memory at and above top is never accessed.
// Threads:    the owner of both stacks.
// See:        docs/context_switch.md
#pragma once

extern "C" {

// Calls function(argument) with the stack pointer at top, rounded down to 16 bytes.
void run_call_on_stack(void* top, void (*function)(void* argument), void* argument);
}
