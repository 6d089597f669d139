// preempt_word.h: the word of each thread that instrumented code looks at: 0, or all ones if it is to call run_preempt_hook.
//
// On x86-64 with glibc it is the word at fs:0x70 that glibc sets aside for split stacks and that nobody uses otherwise: GCC's split-stack
// prologues compare the stack pointer with it, so all ones always lead to their slow way, and 0 never does. Elsewhere it is a
// thread-local of the library.
//
// Who: its address by the thread itself; the word by any thread, while the owner lives.
#pragma once

#include <cstdint>

#include "base/atomic.h"

#if defined(__x86_64__) && defined(__GLIBC__)
#define WEFT_SPLIT_STACK_WORD 1
#endif

#if !defined(WEFT_SPLIT_STACK_WORD)
extern "C" [[gnu::tls_model("initial-exec")]] constinit thread_local uintptr_t run_preempt_word;
#endif

namespace weft::detail {

// The calling thread's. The caller does not switch between this and its use.
[[nodiscard]] inline atomic<uintptr_t>* preempt_word() noexcept {
    static_assert(sizeof(atomic<uintptr_t>) == sizeof(uintptr_t));
#if defined(WEFT_SPLIT_STACK_WORD)
    uintptr_t block = 0;
    asm volatile("movq %%fs:0, %0" : "=r"(block));  // volatile: another thread's after a switch
    return reinterpret_cast<atomic<uintptr_t>*>(block + 0x70);
#else
    return reinterpret_cast<atomic<uintptr_t>*>(&run_preempt_word);
#endif
}

}  // namespace weft::detail
