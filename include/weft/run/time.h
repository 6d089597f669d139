// time.h: sleeping and timers.
//
// See: docs/c_api.md, docs/timers.md
#pragma once

#include <weft/run/chan.h>

#ifdef __cplusplus
extern "C" {
#endif

// Waits for ns nanoseconds at least; RUN_FOREVER: for ever. At once if ns is zero or less. Any thread. A cancellation point:
// RUN_CANCELLED, RUN_EXPIRED.
run_status_t run_sleep_ns(int64_t ns) RUN_NOEXCEPT;

// The same until run_now_ns() is deadline_ns.
run_status_t run_sleep_until_ns(int64_t deadline_ns) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
