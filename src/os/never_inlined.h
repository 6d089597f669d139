// never_inlined.h: functions that make a system call and read errno, for callers that change
// threads.
//
// A compiler keeps errno's address, which belongs to a thread, but not across such a call. The
// function is neither inlined nor specialised, not even by link-time optimization.
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

// A system call's result, with minus errno instead of -1.
template <typename Integer>
[[gnu::always_inline]] inline Integer or_errno(Integer result) noexcept {
    return result >= 0 ? result : -static_cast<Integer>(errno);
}

}  // namespace weft::detail::os
