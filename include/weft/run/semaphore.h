// semaphore.h: a number of units that are taken and given back; a caller that finds none waits.
//
// Units go to the waiters in order of arrival. Any thread may call all functions; any thread may
// give a unit, whether or not it has taken one. semaphore NULL: RUN_INVALID. Fatal errors: more
// than 2^30 - 1 units, and freeing a semaphore with waiters. It may be freed as soon as the last
// acquire has returned.
//
// See: docs/c_api.md, docs/semaphore.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_semaphore run_semaphore_t;

/// Makes a semaphore with count units. RUN_EXHAUSTED if there is no memory. Free accepts NULL.
run_status_t run_semaphore_make(run_semaphore_t** semaphore, uint32_t count) RUN_NOEXCEPT;
void run_semaphore_free(run_semaphore_t* semaphore) RUN_NOEXCEPT;

/// Takes a unit, waiting until one is available. A cancellation point where it waits:
/// RUN_CANCELLED, RUN_EXPIRED, with nothing taken.
run_status_t run_semaphore_acquire(run_semaphore_t* semaphore) RUN_NOEXCEPT;
run_status_t run_semaphore_try_acquire(run_semaphore_t* semaphore) RUN_NOEXCEPT;
run_status_t run_semaphore_acquire_for(run_semaphore_t* semaphore, int64_t timeout_ns) RUN_NOEXCEPT;

/// Gives n units.
run_status_t run_semaphore_release(run_semaphore_t* semaphore, uint32_t n) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
