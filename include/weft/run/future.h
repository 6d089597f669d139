// future.h: waits for the result of a green thread.
//
// run_async starts a function and returns a future for the pointer that the function returns. Any
// number of threads may wait for it, any number of times. Releasing a future neither waits nor
// cancels. The program owns what the pointer refers to.
//
// Any thread may call all functions. future NULL: RUN_INVALID.
//
// See: docs/c_api.md, docs/futures.md
#pragma once

#include <weft/run/spawn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_future run_future_t;

/// Starts fn(arg) as a green thread, like run_spawn. *future is a reference, to be released by
/// run_future_release. Also a macro, which calls run_async_at. RUN_EXHAUSTED also if there is no
/// memory for the future.
run_status_t run_async(run_future_t** future, void* (*fn)(void* arg), void* arg) RUN_NOEXCEPT;
run_status_t run_async_at(run_future_t** future,
                          const run_spawn_opts_t* opts,
                          void* (*fn)(void* arg),
                          void* arg,
                          const char* file,
                          int line,
                          const char* function) RUN_NOEXCEPT;

#define run_async(future, fn, arg) run_async_at((future), NULL, (fn), (arg), __FILE__, __LINE__, __func__)

/// Add a reference and return future; remove a reference. NULL is allowed.
run_future_t* run_future_retain(run_future_t* future) RUN_NOEXCEPT;
void run_future_release(run_future_t* future) RUN_NOEXCEPT;

/// Wait until fn has returned, and store its result in *result, which may be NULL. The effects of
/// fn are then visible. Cancellation points: RUN_CANCELLED, RUN_EXPIRED; with a timeout also
/// RUN_WOULD_BLOCK or RUN_TIMEOUT. *result is written only on RUN_OK.
run_status_t run_future_wait(run_future_t* future, void** result) RUN_NOEXCEPT;
run_status_t run_future_wait_for(run_future_t* future, void** result, int64_t timeout_ns) RUN_NOEXCEPT;

/// Whether a wait would return at once. false for NULL.
bool run_future_is_ready(run_future_t* future) RUN_NOEXCEPT;

/// Asks the green thread to end: its cancellation points return RUN_CANCELLED from now on. Does not
/// wait for its end.
run_status_t run_future_cancel(run_future_t* future) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
