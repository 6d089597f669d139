// barrier.h: a fixed number of parties meet repeatedly: none continues before the last has arrived.
//
// Any thread may call all functions. barrier NULL: RUN_INVALID. Fatal errors: more arrivals than
// expected, and freeing a barrier with waiters. It may be freed as soon as every wait of the last
// phase has returned.
//
// See: docs/c_api.md, docs/latch_barrier_event.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_barrier run_barrier_t;

/// Makes a barrier for count parties, less than 2^30: else RUN_INVALID. The last party to arrive in
/// a phase calls completion(arg), unless NULL, before the others continue; completion must not
/// throw. RUN_EXHAUSTED if there is no memory. Free accepts NULL.
run_status_t run_barrier_make(run_barrier_t** barrier, uint32_t count, void (*completion)(void* arg), void* arg)
    RUN_NOEXCEPT;
void run_barrier_free(run_barrier_t* barrier) RUN_NOEXCEPT;

/// Arrives and waits for the others. Not a cancellation point.
run_status_t run_barrier_arrive_and_wait(run_barrier_t* barrier) RUN_NOEXCEPT;

/// run_barrier_arrive arrives without waiting and sets *phase. run_barrier_wait waits until that
/// phase has ended; it returns at once if it already has. A party must wait for each phase it
/// arrived in before it arrives in the next. RUN_INVALID for phase NULL.
run_status_t run_barrier_arrive(run_barrier_t* barrier, uint32_t* phase) RUN_NOEXCEPT;
run_status_t run_barrier_wait(run_barrier_t* barrier, uint32_t phase) RUN_NOEXCEPT;

/// Arrives without waiting, and lowers the number of expected parties from the next phase on.
run_status_t run_barrier_arrive_and_drop(run_barrier_t* barrier) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
