// never_inlined.h: a function that makes a system call and reads errno, for callers that may go on on another thread later.
//
// A compiler keeps errno's address, which is one of the thread: not across such a call. Neither inlined nor specialised, under link-time
// optimization either.
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

// What a system call has returned, with errno in place of -1.
template <typename Integer>
[[gnu::always_inline]] inline Integer or_errno(Integer result) noexcept {
    return result >= 0 ? result : -static_cast<Integer>(errno);
}

}  // namespace weft::detail::os
