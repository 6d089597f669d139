// mutex.h: mutual exclusion.
//
// A contended lock parks a green thread and blocks a plain one. Normally the first thread to arrive
// takes a freed mutex. Once a waiter has waited for more than 1 ms, the mutex is passed on in queue
// order. Any thread may unlock it, not only the one that locked it. It may be freed as soon as the
// last unlock has been called.
//
// Any thread may call all functions. mutex NULL: RUN_INVALID. Fatal errors: unlocking an unlocked
// mutex, and freeing a locked one.
//
// See: docs/c_api.md, docs/mutex.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_mutex run_mutex_t;

/// RUN_EXHAUSTED if there is no memory. Free accepts NULL.
run_status_t run_mutex_make(run_mutex_t** mutex) RUN_NOEXCEPT;
void run_mutex_free(run_mutex_t* mutex) RUN_NOEXCEPT;

/// Waits until the caller holds the mutex. Not a cancellation point.
run_status_t run_mutex_lock(run_mutex_t* mutex) RUN_NOEXCEPT;

/// Locks it if it is free: RUN_OK, RUN_WOULD_BLOCK.
run_status_t run_mutex_try_lock(run_mutex_t* mutex) RUN_NOEXCEPT;

/// Waits for at most timeout_ns. A cancellation point. The mutex is locked if and only if this
/// returns RUN_OK; else RUN_WOULD_BLOCK, RUN_TIMEOUT, RUN_CANCELLED, RUN_EXPIRED.
run_status_t run_mutex_lock_for(run_mutex_t* mutex, int64_t timeout_ns) RUN_NOEXCEPT;

run_status_t run_mutex_unlock(run_mutex_t* mutex) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
