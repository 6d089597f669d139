// event.h: a flag that can be waited for: set lets through all who wait and all who come, until reset.
//
// A wait returns once the event has been set while it waited, even if it was reset since. Any thread may call everything. event NULL:
// RUN_INVALID. Freeing one that is waited for is a fatal error; it may be freed as soon as every wait has returned. An event can be a
// case of run_select.
//
// See: docs/c_api.md, docs/latch_barrier_event.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_event run_event_t;

// RUN_EXHAUSTED if there is no memory. Free takes NULL too.
run_status_t run_event_make(run_event_t** event) RUN_NOEXCEPT;
void run_event_free(run_event_t* event) RUN_NOEXCEPT;

// The event may be gone when set returns.
run_status_t run_event_set(run_event_t* event) RUN_NOEXCEPT;
run_status_t run_event_reset(run_event_t* event) RUN_NOEXCEPT;

// Whether it is set at this moment. false for NULL.
bool run_event_is_set(run_event_t* event) RUN_NOEXCEPT;

// Waits until it is set. A cancellation point where it waits: RUN_CANCELLED, RUN_EXPIRED; the other one also RUN_WOULD_BLOCK or
// RUN_TIMEOUT.
run_status_t run_event_wait(run_event_t* event) RUN_NOEXCEPT;
run_status_t run_event_wait_for(run_event_t* event, int64_t timeout_ns) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
