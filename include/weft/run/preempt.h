// preempt.h: code that may be interrupted, and what the compiler's own checks call.
//
// See: weft/preemptible.h for the rules of marked code, docs/preemption.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// From here on the calling green thread may be interrupted anywhere, at the end of its time slice, until run_preempt_disable(): for
// arithmetic, without malloc and locks. Not counted: two of the one are ended by one of the other. RUN_INVALID if there is
// nothing to end. Do nothing in a plain thread.
run_status_t run_preempt_enable(void) RUN_NOEXCEPT;
run_status_t run_preempt_disable(void) RUN_NOEXCEPT;

// For code that checks by itself whether it is to give way, as that compiled by weft_instrument() does: lets others run if the scheduler
// has asked the calling green thread to. Returns at once in any other place: a plain thread, a signal handler, the runtime itself.
// Keeps errno, throws nothing; the caller goes on on the same OS thread. run_preempt_announce(): such code exists.
void run_preempt_hook(void) RUN_NOEXCEPT;
void run_preempt_announce(void) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
