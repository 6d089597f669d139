// big_stack.h: running a function that needs more stack than its green thread has.
//
// See: docs/c_api.md, docs/stacks.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a size of 0 means.
#define RUN_BIG_STACK_SIZE (1024 * 1024)

// Calls fn(arg) with at least size bytes of stack, and returns when it does. The green thread stays the same: fn may wait, and be on
// another OS thread afterwards. If so much is left of the caller's stack, or it is a plain thread, that is a mere call. RUN_INVALID
// if fn is NULL, or more than 64 MiB are to be taken; RUN_EXHAUSTED if there is no room for another stack: fn was not called then.
run_status_t run_on_big_stack(void (*fn)(void* arg), void* arg, size_t size) RUN_NOEXCEPT;

// Bytes of stack that are left to the caller.
size_t run_stack_left(void) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
