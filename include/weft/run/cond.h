// cond.h: waiting until something holds that a mutex guards.
//
//     run_mutex_lock(m);
//     while (queue_is_empty) run_cond_wait(changed, m);
//     …
//     run_mutex_unlock(m);
//
// A wait returns after a signal that came later, with the mutex locked again, whatever its status; others may have been faster, so
// look again. All who wait on a condition at a time use the same mutex.
//
// Any thread may call everything, and signal with or without the mutex. NULL: RUN_INVALID. Waiting without holding the mutex is a
// fatal error. It may be freed when all who waited have been signalled.
//
// See: docs/c_api.md, docs/condition_variable.md
#pragma once

#include <weft/run/mutex.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_cond run_cond_t;

// RUN_EXHAUSTED if there is no memory. Free takes NULL too.
run_status_t run_cond_make(run_cond_t** cond) RUN_NOEXCEPT;
void run_cond_free(run_cond_t* cond) RUN_NOEXCEPT;

// Unlocks mutex and waits to be signalled; locks it again. A cancellation point: RUN_CANCELLED, RUN_EXPIRED.
run_status_t run_cond_wait(run_cond_t* cond, run_mutex_t* mutex) RUN_NOEXCEPT;

// The same for timeout_ns at most: or RUN_TIMEOUT; with zero or less it returns RUN_WOULD_BLOCK at once, mutex staying locked.
run_status_t run_cond_wait_for(run_cond_t* cond, run_mutex_t* mutex, int64_t timeout_ns) RUN_NOEXCEPT;

// Wakes who has waited longest, if anybody waits; wakes all who wait.
run_status_t run_cond_signal(run_cond_t* cond) RUN_NOEXCEPT;
run_status_t run_cond_broadcast(run_cond_t* cond) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
