// preempt_word.h: the per-thread word that instrumented code reads: all ones make it call
// run_preempt_hook, 0 does not.
//
// On x86-64 with glibc it is fs:0x70, reserved for split stacks. GCC's split-stack prologues
// compare the stack pointer with it. Elsewhere it is a thread-local of the library.
//
// Threads: any, while the owner lives. Only the owner takes the address.
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

// The calling thread's word. The caller must not switch before using it.
[[nodiscard]] inline atomic<uintptr_t>* preempt_word() noexcept {
    static_assert(sizeof(atomic<uintptr_t>) == sizeof(uintptr_t));
#if defined(WEFT_SPLIT_STACK_WORD)
    uintptr_t block = 0;
    asm volatile("movq %%fs:0, %0" : "=r"(block));  // volatile: differs after a switch
    return reinterpret_cast<atomic<uintptr_t>*>(block + 0x70);
#else
    return reinterpret_cast<atomic<uintptr_t>*>(&run_preempt_word);
#endif
}

}  // namespace weft::detail
