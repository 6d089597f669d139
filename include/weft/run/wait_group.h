// wait_group.h: waits until a number of pieces of work have finished.
//
// Call run_wait_group_add before the work starts, _done when a piece is finished, and _wait to wait
// until the count is zero. run_wait_group_go does the first two around a new green thread. The
// group may be freed as soon as every wait has returned.
//
// Any thread may call all functions. Fatal errors: a negative count, and freeing a group before its
// count is zero. group NULL: RUN_INVALID.
//
// See: docs/c_api.md, docs/wait_group.md
#pragma once

#include <weft/run/spawn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_wait_group run_wait_group_t;

/// Makes a group with the count 0. RUN_EXHAUSTED if there is no memory.
run_status_t run_wait_group_make(run_wait_group_t** group) RUN_NOEXCEPT;
void run_wait_group_free(run_wait_group_t* group) RUN_NOEXCEPT;

/// Adds n pieces of work (negative n subtracts). The count must stay between 0 and 2^30 - 1: else
/// fatal.
run_status_t run_wait_group_add(run_wait_group_t* group, int n) RUN_NOEXCEPT;

/// One piece is finished. The group may be gone on return.
run_status_t run_wait_group_done(run_wait_group_t* group) RUN_NOEXCEPT;

/// Wait until the count is zero. run_wait_group_wait is not a cancellation point.
/// run_wait_group_wait_for is one, and returns RUN_WOULD_BLOCK, RUN_TIMEOUT, RUN_CANCELLED or
/// RUN_EXPIRED if the wait ended early.
run_status_t run_wait_group_wait(run_wait_group_t* group) RUN_NOEXCEPT;
run_status_t run_wait_group_wait_for(run_wait_group_t* group, int64_t timeout_ns) RUN_NOEXCEPT;

/// Starts fn(arg) as a green thread that counts as one piece of work, like run_spawn. Also a macro,
/// which calls run_wait_group_go_at.
run_status_t run_wait_group_go(run_wait_group_t* group, void (*fn)(void* arg), void* arg) RUN_NOEXCEPT;
run_status_t run_wait_group_go_at(run_wait_group_t* group,
                                  const run_spawn_opts_t* opts,
                                  void (*fn)(void* arg),
                                  void* arg,
                                  const char* file,
                                  int line,
                                  const char* function) RUN_NOEXCEPT;

#define run_wait_group_go(group, fn, arg) run_wait_group_go_at((group), NULL, (fn), (arg), __FILE__, __LINE__, __func__)

#ifdef __cplusplus
}
#endif
