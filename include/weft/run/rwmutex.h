// rwmutex.h: many readers or one writer.
//
// Neither side starves the other: a writer that waits keeps new readers out; when it unlocks, all readers that wait go in together,
// before the next writer. Not recursive, not even for readers. It may be unlocked by another thread than the one that locked it.
//
// Any thread may call everything. mutex NULL: RUN_INVALID. Unlocking what is not locked that way, and freeing one that is locked, are
// fatal errors.
//
// See: docs/c_api.md, docs/shared_mutex.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_rwmutex run_rwmutex_t;

// RUN_EXHAUSTED if there is no memory. Free takes NULL too.
run_status_t run_rwmutex_make(run_rwmutex_t** mutex) RUN_NOEXCEPT;
void run_rwmutex_free(run_rwmutex_t* mutex) RUN_NOEXCEPT;

// For writing, as those of run_mutex.
run_status_t run_rwmutex_lock(run_rwmutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_rwmutex_try_lock(run_rwmutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_rwmutex_lock_for(run_rwmutex_t* mutex, int64_t timeout_ns) RUN_NOEXCEPT;
run_status_t run_rwmutex_unlock(run_rwmutex_t* mutex) RUN_NOEXCEPT;

// For reading, likewise. More than 2^24 - 1 readers at once are a fatal error.
run_status_t run_rwmutex_rlock(run_rwmutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_rwmutex_try_rlock(run_rwmutex_t* mutex) RUN_NOEXCEPT;
run_status_t run_rwmutex_rlock_for(run_rwmutex_t* mutex, int64_t timeout_ns) RUN_NOEXCEPT;
run_status_t run_rwmutex_runlock(run_rwmutex_t* mutex) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
