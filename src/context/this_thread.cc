// this_thread.cc: see this_thread.h. Nothing else may live in this file, so that nothing is inlined together with the accessor.
#include "context/this_thread.h"

namespace weft::detail {

#if defined(__x86_64__) && defined(__ELF__)

extern "C" {
// used: the optimiser does not see the assembly that reads it.
[[gnu::used, gnu::visibility("hidden"), gnu::tls_model("initial-exec")]] constinit thread_local void* run_this_thread =
    nullptr;
}

[[gnu::noinline]] void set_this_thread(void* value) noexcept {
    asm volatile("");  // keeps the call from being folded into another one
    run_this_thread = value;
}

#else

namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local void* slot = nullptr;

}  // namespace

[[gnu::noinline]] void* this_thread() noexcept {
    asm volatile("");  // as below
    return slot;
}

[[gnu::noinline]] void set_this_thread(void* value) noexcept {
    asm volatile("");  // keeps the call from being folded into another one
    slot = value;
}

#endif

}  // namespace weft::detail
