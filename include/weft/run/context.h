// context.h: saves one stack's registers and continues on another. For C and C++.
//
// The layer below green threads, for programs with their own scheduler. A context is a function
// stopped in the middle. It needs a stack (run_stack_alloc in vmem.h, or any memory), and code that
// switches to it. Code on such a context must not call anything that waits: that would park the
// surrounding green thread, with the wrong stack.
//
// A switch carries callee-saved registers, stack pointer and frame pointer. It does not carry
// floating-point control words, the signal mask, thread-locals, or the C++ exception state.
//
// See: docs/context_switch.md, docs/c_api.md
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// Three opaque words. Zero them, or leave them uninitialised, before run_context_init or as the
/// first argument of run_context_switch.
typedef struct run_context_t {
    void* sp;
    void* pc;
    void* fp;
} run_context_t;

/// Saves the caller's context into from and continues to. Returns when another switch continues
/// from. The result is the baton passed to that switch: a word whose meaning its users define.
void* run_context_switch(run_context_t* from, run_context_t* to, void* baton);

/// Makes ctx start entry(argument, baton) on the stack that ends at stack_top (rounded down to 16
/// bytes), with the unwinder's end-of-stack marker below it. baton is that of the first switch to
/// it. If entry returns, run_g_exit() follows.
void run_context_init(run_context_t* ctx, void* stack_top, void (*entry)(void* argument, void* baton), void* argument);

// Ends the calling green thread at any call depth, as if its function had returned (an async one:
// NULL; one of a scope: 0). Frames are not unwound, so what they hold stays held. Threads that join
// it continue. Fatal for the main green thread, for those started from C++, and in a plain thread.
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void run_g_exit(void);

#ifdef __cplusplus
}
#endif
