// barrier.h: a number of parties that meet again and again: nobody goes on before the last has come.
//
// Any thread may call everything. barrier NULL: RUN_INVALID. More arrivals than are expected, and freeing one that is waited for, are fatal
// errors. It may be freed as soon as every wait of the last phase has returned.
//
// See: docs/c_api.md, docs/latch_barrier_event.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_barrier run_barrier_t;

// Makes one for count parties, less than 2^30: else RUN_INVALID. The last to arrive in a phase calls completion(arg), unless that is NULL,
// before the others go on; it must not throw. RUN_EXHAUSTED if there is no memory. Free takes NULL too.
run_status_t run_barrier_make(run_barrier_t** barrier, uint32_t count, void (*completion)(void* arg), void* arg)
    RUN_NOEXCEPT;
void run_barrier_free(run_barrier_t* barrier) RUN_NOEXCEPT;

// Arrives, and waits for the others. Not a cancellation point.
run_status_t run_barrier_arrive_and_wait(run_barrier_t* barrier) RUN_NOEXCEPT;

// Arrives without waiting; phase becomes what run_barrier_wait() is to wait for the end of: at once, if it has ended already. Each phase
// that was arrived in is to be waited for before the caller arrives in the next. RUN_INVALID for phase NULL.
run_status_t run_barrier_arrive(run_barrier_t* barrier, uint32_t* phase) RUN_NOEXCEPT;
run_status_t run_barrier_wait(run_barrier_t* barrier, uint32_t phase) RUN_NOEXCEPT;

// Arrives without waiting, and from the next phase on is not expected any more.
run_status_t run_barrier_arrive_and_drop(run_barrier_t* barrier) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
