// event.h: a flag to wait for: once set, all current and later waits return, until reset.
//
// A wait returns if the event was set during the wait, even if it has been reset since. Any thread
// may call all functions. event NULL: RUN_INVALID. It may be freed as soon as every wait has
// returned; freeing it earlier is a fatal error. An event can be a case of run_select.
//
// See: docs/c_api.md, docs/latch_barrier_event.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_event run_event_t;

/// RUN_EXHAUSTED if there is no memory. Free accepts NULL.
run_status_t run_event_make(run_event_t** event) RUN_NOEXCEPT;
void run_event_free(run_event_t* event) RUN_NOEXCEPT;

/// The event may be gone when run_event_set returns.
run_status_t run_event_set(run_event_t* event) RUN_NOEXCEPT;
run_status_t run_event_reset(run_event_t* event) RUN_NOEXCEPT;

/// Whether it is set right now. false for NULL.
bool run_event_is_set(run_event_t* event) RUN_NOEXCEPT;

/// Wait until it is set. Cancellation points where they wait: RUN_CANCELLED, RUN_EXPIRED; with a
/// timeout also RUN_WOULD_BLOCK or RUN_TIMEOUT.
run_status_t run_event_wait(run_event_t* event) RUN_NOEXCEPT;
run_status_t run_event_wait_for(run_event_t* event, int64_t timeout_ns) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
