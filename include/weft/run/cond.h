// cond.h: waits for a condition on data that a mutex guards.
//
//     run_mutex_lock(m);
//     while (queue_is_empty) run_cond_wait(changed, m);
//     …
//     run_mutex_unlock(m);
//
// A wait returns after a signal that came later, with the mutex locked again, whatever its status.
// Check the condition again, because another thread may have changed it first. All concurrent waits
// on a condition must use the same mutex.
//
// Any thread may call all functions, and signal with or without the mutex. NULL: RUN_INVALID.
// Waiting without holding the mutex is a fatal error. It may be freed when all waiters have been
// signalled.
//
// See: docs/c_api.md, docs/condition_variable.md
#pragma once

#include <weft/run/mutex.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_cond run_cond_t;

/// RUN_EXHAUSTED if there is no memory. Free accepts NULL.
run_status_t run_cond_make(run_cond_t** cond) RUN_NOEXCEPT;
void run_cond_free(run_cond_t* cond) RUN_NOEXCEPT;

/// Unlocks mutex, waits for a signal, and locks it again. A cancellation point: RUN_CANCELLED,
/// RUN_EXPIRED.
run_status_t run_cond_wait(run_cond_t* cond, run_mutex_t* mutex) RUN_NOEXCEPT;

/// As above, for at most timeout_ns; or RUN_TIMEOUT. With zero or less it returns RUN_WOULD_BLOCK
/// at once, and mutex stays locked.
run_status_t run_cond_wait_for(run_cond_t* cond, run_mutex_t* mutex, int64_t timeout_ns) RUN_NOEXCEPT;

/// Wake the longest waiter, if there is one; wake all waiters.
run_status_t run_cond_signal(run_cond_t* cond) RUN_NOEXCEPT;
run_status_t run_cond_broadcast(run_cond_t* cond) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
