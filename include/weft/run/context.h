// context.h: saving one stack's registers and continuing another. For C and C++.
//
// The layer below green threads, for those who schedule by themselves: a context is what is left of a function that was stopped in
// the middle. It needs a stack (run_stack_alloc in vmem.h, or any memory) and somebody who switches to it. What run on a
// context of their own may not call anything that waits: that would park the green thread around them, with the wrong stack.
//
// Carried by a switch: callee-saved registers, stack pointer, frame pointer. Not carried: floating-point control words, signal
// mask, thread-locals, the C++ exception state.
//
// See: docs/context_switch.md, docs/c_api.md
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// Three words; opaque to users. Zero them, or leave them uninitialised, before run_context_init or as the first argument of
// run_context_switch.
typedef struct run_context_t {
    void* sp;
    void* pc;
    void* fp;
} run_context_t;

// Saves the caller's context into from and continues to. Returns when somebody switches back; the result is the baton that
// switch was given: a word that travels with the control, for whatever its users agree on.
void* run_context_switch(run_context_t* from, run_context_t* to, void* baton);

// Makes ctx start entry(argument, baton) on the stack that ends at stack_top (rounded down to 16 bytes), with the unwinder's
// end of stack below it. baton is that of the first switch to it. An entry that returns goes on in run_g_exit().
void run_context_init(run_context_t* ctx, void* stack_top, void (*entry)(void* argument, void* baton), void* argument);

// Ends the calling green thread from wherever it is, as if its function had returned (an async one: NULL; one of a scope: 0). Frames
// are not unwound: what they hold stays. Whoever joins it goes on. Fatal for the main green thread, for those that were
// started from C++, and in a plain thread.
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void run_g_exit(void);

#ifdef __cplusplus
}
#endif
