// mutex.h: mutual exclusion.
//
// A contended lock parks a green thread and blocks a plain one. Whoever comes first takes a freed mutex, until somebody has waited for
// more than 1 ms; then it goes in the order of the queue. It may be unlocked by another thread than the one that locked it,
// and freed as soon as the last unlock has been called.
//
// Any thread may call everything. mutex NULL: RUN_INVALID. Unlocking an unlocked mutex, and freeing a locked one, are fatal errors.
//
// See: docs/c_api.md, docs/mutex.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_mutex run_mutex_t;

// RUN_EXHAUSTED if there is no memory. Free takes NULL too.
run_status_t run_mutex_make(run_mutex_t** mutex) RUN_NOEXCEPT;
void run_mutex_free(run_mutex_t* mutex) RUN_NOEXCEPT;

// Waits until the mutex is the caller's. Not a cancellation point.
run_status_t run_mutex_lock(run_mutex_t* mutex) RUN_NOEXCEPT;

// Locks it if it is free: RUN_OK, RUN_WOULD_BLOCK.
run_status_t run_mutex_try_lock(run_mutex_t* mutex) RUN_NOEXCEPT;

// Waits for it for timeout_ns at most. A cancellation point. It is locked if and only if this is RUN_OK; else RUN_WOULD_BLOCK,
// RUN_TIMEOUT, RUN_CANCELLED, RUN_EXPIRED.
run_status_t run_mutex_lock_for(run_mutex_t* mutex, int64_t timeout_ns) RUN_NOEXCEPT;

run_status_t run_mutex_unlock(run_mutex_t* mutex) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
