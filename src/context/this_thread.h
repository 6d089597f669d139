// this_thread.h: a per-thread pointer that stays correct after a switch.
//
// Compilers compute a thread-local's address once per function (on AArch64 even in executables),
// and would read the old thread's after a switch. This accessor is opaque: on x86-64 a volatile
// load, elsewhere a noinline function.
//
// Threads: any thread. See: docs/context_switch.md
#pragma once

namespace weft::detail {

#if defined(__x86_64__) && defined(__ELF__)

// Not mangled, because assembly uses it.
extern "C" [[gnu::visibility("hidden"), gnu::tls_model("initial-exec")]] constinit thread_local void* run_this_thread;

// Initially nullptr.
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
