// preempt.h: marks code as preemptible; the hook for checks that a compiler inserts.
//
// See: weft/preemptible.h for the rules of marked code, docs/preemption.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Between these calls the calling green thread may be interrupted anywhere, at the end of its time
/// slice: for arithmetic, without malloc and locks. Not counted: one disable ends any number of
/// enables. RUN_INVALID if there is nothing to end. Do nothing in a plain thread.
run_status_t run_preempt_enable(void) RUN_NOEXCEPT;
run_status_t run_preempt_disable(void) RUN_NOEXCEPT;

/// run_preempt_hook is for code that checks by itself whether to yield, such as code compiled by
/// weft_instrument(). It yields if the scheduler has asked the calling green thread to. It returns
/// at once in a plain thread, a signal handler, and the runtime itself. It preserves errno and
/// throws nothing, and the caller stays on its OS thread. run_preempt_announce() declares that such
/// code exists.
void run_preempt_hook(void) RUN_NOEXCEPT;
void run_preempt_announce(void) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
