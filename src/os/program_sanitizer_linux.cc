// program_sanitizer_linux.cc: see program_sanitizer.h. The runtime of a sanitizer has a function
// __NAME_init, which code that is built with it calls. A weak reference to it is null elsewhere.
#include "os/program_sanitizer.h"

extern "C" {
[[gnu::weak]] void __asan_init();    // NOLINT: the sanitizers' names
[[gnu::weak]] void __tsan_init();    // NOLINT
[[gnu::weak]] void __msan_init();    // NOLINT
[[gnu::weak]] void __hwasan_init();  // NOLINT
}

namespace weft::detail::os {

namespace {

#if defined(__has_feature)
#define WEFT_BUILT_WITH(name) __has_feature(name)
#else
#define WEFT_BUILT_WITH(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || WEFT_BUILT_WITH(address_sanitizer)
constexpr bool has_asan = true;
#else
constexpr bool has_asan = false;
#endif
#if defined(__SANITIZE_THREAD__) || WEFT_BUILT_WITH(thread_sanitizer)
constexpr bool has_tsan = true;
#else
constexpr bool has_tsan = false;
#endif

}  // namespace

program_sanitizer find_program_sanitizer() noexcept {
    if (!has_asan && &__asan_init != nullptr) return {"AddressSanitizer", "address"};
    if (!has_tsan && &__tsan_init != nullptr) return {"ThreadSanitizer", "thread"};
    if (&__msan_init != nullptr) return {"MemorySanitizer", nullptr};
    if (&__hwasan_init != nullptr) return {"HWAddressSanitizer", nullptr};
    return {nullptr, nullptr};
}

}  // namespace weft::detail::os
