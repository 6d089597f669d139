// never_inlined.h: system calls that read errno on the thread that has made them.
//
// A compiler keeps the address of errno in a function, in which a green thread may change threads.
// So such a call is neither inlined nor specialised, not even by link-time optimization.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstdint>

#if defined(__clang__)
#define WEFT_OS_CALL __attribute__((noinline))
#else
#define WEFT_OS_CALL __attribute__((noipa))
#endif

namespace weft::detail::os {

// Returns minus errno's value instead of -1.
template <typename Integer>
[[gnu::always_inline]] inline Integer or_errno(Integer result) noexcept {
    return result >= 0 ? result : -static_cast<Integer>(errno);
}

}  // namespace weft::detail::os
