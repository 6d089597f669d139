// this_thread.h: one pointer for each thread that a switch between stacks cannot confuse.
//
// A function may begin on one thread and go on, after a switch, on another. Compilers compute the address of a thread-local once
// per function and keep it (on AArch64 even in executables), so after the switch they would read the old thread's. Hence
// an accessor that the compiler cannot see through: on x86-64 a volatile load relative to the thread pointer, which is
// neither kept nor merged; elsewhere a function that is never inlined.
//
// Who: any thread. See: docs/context_switch.md
#pragma once

namespace weft::detail {

#if defined(__x86_64__) && defined(__ELF__)

// Named in assembly, so it has no mangled name; in the static block of thread-locals, so two instructions reach it.
extern "C" [[gnu::visibility("hidden"), gnu::tls_model("initial-exec")]] constinit thread_local void* run_this_thread;

// What the calling thread has set; nullptr at first.
[[nodiscard, gnu::always_inline]] inline void* this_thread() noexcept {
    void* value = nullptr;
    asm volatile("movq run_this_thread@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(value) : : "memory");
    return value;
}

#else

[[nodiscard]] void* this_thread() noexcept;

#endif

void set_this_thread(void* value) noexcept;

}  // namespace weft::detail
