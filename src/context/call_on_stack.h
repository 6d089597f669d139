// call_on_stack.h: a call on another stack of the same thread.
//
// Only the frame pointer is saved. Unwinding and frame-pointer walks pass to the caller's frames.
//
// The function may switch contexts and resume on another thread. The caller must inform sanitizers
// (context/sanitizer.h) and code that tracks stack bounds.
//
// Threads: the owner of both stacks.
// See:     docs/context_switch.md
#pragma once

extern "C" {

// Calls function(argument) with the stack pointer at top, rounded down to 16 bytes. Memory at and
// above top is not accessed.
void run_call_on_stack(void* top, void (*function)(void* argument), void* argument);
}
