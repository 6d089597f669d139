// recursive_mutex.h: a mutex that its holder may lock again.
//
// It belongs to the green thread (or the plain one) that has locked it, and is free when it has been unlocked as often. A green
// thread may wait, and go on on another OS thread, while it holds one.
//
// Any thread may call everything. mutex NULL: RUN_INVALID. Unlocking one that somebody else holds, or nobody, and freeing one that is
// held, are fatal errors.
//
// See: docs/c_api.md, docs/mutex.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_recursive_mutex run_recursive_mutex_t;

// RUN_EXHAUSTED if there is no memory. Free takes NULL too.
run_status_t run_recursive_mutex_make(run_recursive_mutex_t** mutex) RUN_NOEXCEPT;
void run_recursive_mutex_free(run_recursive_mutex_t* mutex) RUN_NOEXCEPT;

// As those of run_mutex. RUN_INVALID also if the caller has locked it 2^24 - 1 times.
run_status_t run_recursive_mutex_lock(run_recursive_mutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_recursive_mutex_try_lock(run_recursive_mutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_recursive_mutex_lock_for(run_recursive_mutex_t* mutex, int64_t timeout_ns) RUN_NOEXCEPT;
run_status_t run_recursive_mutex_unlock(run_recursive_mutex_t* mutex) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
