// latch.h: a count that goes down to zero once, which releases all waiters.
//
// Any thread may call all functions. latch NULL: RUN_INVALID. Fatal errors: subtracting more than
// is left, and freeing a latch with waiters. It may be freed as soon as every wait has returned.
//
// See: docs/c_api.md, docs/latch_barrier_event.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_latch run_latch_t;

/// Makes a latch with this count, less than 2^30: else RUN_INVALID. RUN_EXHAUSTED if there is no
/// memory. Free accepts NULL.
run_status_t run_latch_make(run_latch_t** latch, uint32_t count) RUN_NOEXCEPT;
void run_latch_free(run_latch_t* latch) RUN_NOEXCEPT;

/// Subtracts n from the count. The latch may be gone on return.
run_status_t run_latch_count_down(run_latch_t* latch, uint32_t n) RUN_NOEXCEPT;

/// Whether the count is zero. false for NULL.
bool run_latch_is_open(run_latch_t* latch) RUN_NOEXCEPT;

/// Wait until the count is zero. run_latch_wait is not a cancellation point. run_latch_wait_for is
/// one: RUN_WOULD_BLOCK, RUN_TIMEOUT, RUN_CANCELLED, RUN_EXPIRED.
run_status_t run_latch_wait(run_latch_t* latch) RUN_NOEXCEPT;
run_status_t run_latch_wait_for(run_latch_t* latch, int64_t timeout_ns) RUN_NOEXCEPT;

/// Subtracts n from the count and waits.
run_status_t run_latch_arrive_and_wait(run_latch_t* latch, uint32_t n) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
