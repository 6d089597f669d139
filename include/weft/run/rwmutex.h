// rwmutex.h: a lock for many readers or one writer.
//
// Neither side starves the other. A waiting writer keeps new readers out. When it unlocks, all
// waiting readers enter together, before the next writer. Not recursive, not even for readers. Any
// thread may unlock it, not only the one that locked it.
//
// Any thread may call all functions. mutex NULL: RUN_INVALID. Fatal errors: unlocking a lock that
// is not held in that mode, and freeing a locked one.
//
// See: docs/c_api.md, docs/shared_mutex.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_rwmutex run_rwmutex_t;

/// RUN_EXHAUSTED if there is no memory. Free accepts NULL.
run_status_t run_rwmutex_make(run_rwmutex_t** mutex) RUN_NOEXCEPT;
void run_rwmutex_free(run_rwmutex_t* mutex) RUN_NOEXCEPT;

/// For writing, like the functions of run_mutex.
run_status_t run_rwmutex_lock(run_rwmutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_rwmutex_try_lock(run_rwmutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_rwmutex_lock_for(run_rwmutex_t* mutex, int64_t timeout_ns) RUN_NOEXCEPT;
run_status_t run_rwmutex_unlock(run_rwmutex_t* mutex) RUN_NOEXCEPT;

/// For reading, like those for writing. More than 2^24 - 1 readers at once are a fatal error.
run_status_t run_rwmutex_rlock(run_rwmutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_rwmutex_try_rlock(run_rwmutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_rwmutex_rlock_for(run_rwmutex_t* mutex, int64_t timeout_ns) RUN_NOEXCEPT;
run_status_t run_rwmutex_runlock(run_rwmutex_t* mutex) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
