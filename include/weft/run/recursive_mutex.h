// recursive_mutex.h: a mutex that its holder may lock again.
//
// It belongs to the green thread (or plain thread) that has locked it, and is free after as many
// unlocks. A green thread may wait, and resume on another OS thread, while it holds one.
//
// Any thread may call all functions. mutex NULL: RUN_INVALID. Fatal errors: unlocking a mutex that
// the caller does not hold, and freeing a held one.
//
// See: docs/c_api.md, docs/mutex.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_recursive_mutex run_recursive_mutex_t;

/// RUN_EXHAUSTED if there is no memory. Free accepts NULL.
run_status_t run_recursive_mutex_make(run_recursive_mutex_t** mutex) RUN_NOEXCEPT;
void run_recursive_mutex_free(run_recursive_mutex_t* mutex) RUN_NOEXCEPT;

/// Like the functions of run_mutex. RUN_INVALID also if the caller has locked it 2^24 - 1 times.
run_status_t run_recursive_mutex_lock(run_recursive_mutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_recursive_mutex_try_lock(run_recursive_mutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_recursive_mutex_lock_for(run_recursive_mutex_t* mutex, int64_t timeout_ns) RUN_NOEXCEPT;
run_status_t run_recursive_mutex_unlock(run_recursive_mutex_t* mutex) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
