// big_stack.h: runs a function that needs more stack than its green thread has.
//
// See: docs/c_api.md, docs/stacks.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// The meaning of size 0.
#define RUN_BIG_STACK_SIZE (1024 * 1024)

/// Calls fn(arg) with at least size bytes of stack and returns after it. The green thread stays the
/// same: fn may wait, and may resume on another OS thread. If the caller has enough stack left, or
/// is a plain thread, it is an ordinary call. RUN_INVALID if fn is NULL or size is over 64 MiB;
/// RUN_EXHAUSTED, without calling fn, if there is no room for another stack.
run_status_t run_on_big_stack(void (*fn)(void* arg), void* arg, size_t size) RUN_NOEXCEPT;

/// The bytes of stack that the caller has left.
size_t run_stack_left(void) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
