// call_on_stack.h: a call on another stack of the same thread.
//
// Not a switch: the caller waits on its own stack, and only the frame pointer is saved. Unwinding
// and frame-pointer walks pass from the function's frames to the caller's, so exceptions may leave
// it and a backtrace shows both stacks. Hardware shadow stacks see an ordinary call.
//
// The function may switch contexts and resume on another thread. The caller must inform sanitizers
// (context/sanitizer.h) and code that tracks stack bounds.
//
// Invariants: memory at and above top is never accessed.
// Threads:    the owner of both stacks.
// See:        docs/context_switch.md
#pragma once

extern "C" {

// Calls function(argument) with the stack pointer at top, rounded down to 16 bytes.
void run_call_on_stack(void* top, void (*function)(void* argument), void* argument);
}
