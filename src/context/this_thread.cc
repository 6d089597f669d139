// this_thread.cc: see this_thread.h. Alone, so that nothing is inlined with the accessor.
#include "context/this_thread.h"

namespace weft::detail {

#if defined(__x86_64__) && defined(__ELF__)

extern "C" {
// used: the assembly reads it
[[gnu::used, gnu::visibility("hidden"), gnu::tls_model("initial-exec")]] constinit thread_local void* run_this_thread =
    nullptr;
}

[[gnu::noinline]] void set_this_thread(void* value) noexcept {
    asm volatile("");  // prevents folding into another call
    run_this_thread = value;
}

#else

namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local void* slot = nullptr;

}  // namespace

[[gnu::noinline]] void* this_thread() noexcept {
    asm volatile("");  // as above
    return slot;
}

[[gnu::noinline]] void set_this_thread(void* value) noexcept {
    asm volatile("");  // as above
    slot = value;
}

#endif

}  // namespace weft::detail
