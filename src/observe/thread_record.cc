// thread_record.cc: see thread_record.h. Compiled with -mtls-dialect=gnu2 where that exists: the
// OTEP recommends TLS descriptors.
#include "observe/thread_record.h"

#include <atomic>

#if defined(__has_cpp_attribute) && __has_cpp_attribute(gnu::retain)
#define WEFT_RETAINED [[gnu::used, gnu::retain]]
#else
#define WEFT_RETAINED [[gnu::used]]
#endif

extern "C" {
WEFT_RETAINED [[gnu::visibility(
    "default")]] constinit thread_local const weft::observe::detail::thread_record* volatile otel_thread_ctx_v1 =
    nullptr;  // NOLINT: the OTEP's name
}

namespace weft::observe::detail {

[[gnu::noinline]] void publish_record(const thread_record* record) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    otel_thread_ctx_v1 = record;
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

[[gnu::noinline]] const thread_record* published_record() noexcept {
    asm volatile("");  // else its calls could be merged
    return otel_thread_ctx_v1;
}

}  // namespace weft::observe::detail
