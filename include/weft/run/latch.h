// latch.h: a count that goes down to zero once; who waits goes on then.
//
// Any thread may call everything. latch NULL: RUN_INVALID. Taking off more than is left, and freeing one that is waited for, are fatal
// errors. It may be freed as soon as every wait has returned.
//
// See: docs/c_api.md, docs/latch_barrier_event.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_latch run_latch_t;

// Makes one that counts down from count, which is less than 2^30: else RUN_INVALID. RUN_EXHAUSTED if there is no memory. Free takes
// NULL too.
run_status_t run_latch_make(run_latch_t** latch, uint32_t count) RUN_NOEXCEPT;
void run_latch_free(run_latch_t* latch) RUN_NOEXCEPT;

// Takes n off the count. The latch may be gone when this returns.
run_status_t run_latch_count_down(run_latch_t* latch, uint32_t n) RUN_NOEXCEPT;

// Whether the count is zero. false for NULL.
bool run_latch_is_open(run_latch_t* latch) RUN_NOEXCEPT;

// Waits until the count is zero. Not a cancellation point; the other one is: RUN_WOULD_BLOCK, RUN_TIMEOUT, RUN_CANCELLED,
// RUN_EXPIRED.
run_status_t run_latch_wait(run_latch_t* latch) RUN_NOEXCEPT;
run_status_t run_latch_wait_for(run_latch_t* latch, int64_t timeout_ns) RUN_NOEXCEPT;

// Takes n off the count, and waits.
run_status_t run_latch_arrive_and_wait(run_latch_t* latch, uint32_t n) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
