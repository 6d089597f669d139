// quick_fence.h: a full fence that is quick in functions that the compiler optimizes for size.
//
// For such functions, among them those that are marked as cold, GCC chooses mfence, which is the
// shorter instruction. A locked one takes a twentieth of the time: 2.3 against 48 ns, measured on
// an AMD EPYC. Where a system has no heavy fence, cold functions are on the hot path.
#pragma once

#include "base/atomic.h"

namespace weft::detail {

inline void quick_full_fence() noexcept {
#if defined(__x86_64__)
    asm volatile("lock orq $0, (%%rsp)" ::: "memory", "cc");
#else
    WEFT_FULL_FENCE();
#endif
}

}  // namespace weft::detail
