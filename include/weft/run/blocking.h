// blocking.h: calls that block the OS thread: declared, so that nobody is held up by them.
//
//     run_blocking_call_t call;
//     run_blocking_enter(&call);
//     n = read(fd, buffer, size);
//     run_blocking_exit(&call);
//
// Between the two the caller counts as a plain thread, and its processor is given to others when the call takes long and somebody waits.
// run_blocking() does the same for a function, which runs on the OS thread's own, larger stack.
//
// Where calls from one place are long as a rule, a run_blocking_site_t with static storage, zero at first, remembers that, and the
// processor is given away before the next one.
//
// A run_blocking_pool_t lets only so many calls be under way at once, for what bears no more: a database, a disk.
//
// See: docs/blocking.md, docs/c_api.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// What is known of the calls from one place. Zero at first; any number of threads may use it at once.
typedef struct run_blocking_site {
    uint32_t typical_ns;
} run_blocking_site_t;

// One call that is under way; in the frame of the caller.
typedef struct run_blocking_call {
    void* m;
    int64_t began_ns;
    void* context;
    run_blocking_site_t* site;
} run_blocking_call_t;

// Begins and ends a blocking call. Any thread; in a plain one, and in another blocking call, they do nothing. Each enter needs its exit, on
// the same call, in the same function. The caller may be on another OS thread after exit. errno is kept.
void run_blocking_enter(run_blocking_call_t* call) RUN_NOEXCEPT;
void run_blocking_enter_at(run_blocking_call_t* call, run_blocking_site_t* site) RUN_NOEXCEPT;
void run_blocking_exit(run_blocking_call_t* call) RUN_NOEXCEPT;

// Calls fn(arg) as a blocking call, on the OS thread's own stack. site may be NULL. RUN_INVALID if fn is NULL.
run_status_t run_blocking(run_blocking_site_t* site, void (*fn)(void* arg), void* arg) RUN_NOEXCEPT;

typedef struct run_blocking_pool run_blocking_pool_t;

// Makes a pool for cap calls at once, 1 to 2^30 - 1: else RUN_INVALID. RUN_EXHAUSTED if there is no memory. Free takes NULL too; no call is
// under way, and nobody waits, when it is freed.
run_status_t run_blocking_pool_make(run_blocking_pool_t** pool, uint32_t cap) RUN_NOEXCEPT;
void run_blocking_pool_free(run_blocking_pool_t* pool) RUN_NOEXCEPT;

// As run_blocking, once there is room in the pool: in order of arrival, waiting as a green thread. What is remembered of a place is remembered
// of the pool. A cancellation point while it waits: RUN_CANCELLED, RUN_EXPIRED, and fn was not called.
run_status_t run_blocking_pool_run(run_blocking_pool_t* pool, void (*fn)(void* arg), void* arg) RUN_NOEXCEPT;

// How many calls are under way, and how many wait for that; a moment ago. 0 for NULL.
uint32_t run_blocking_pool_running(const run_blocking_pool_t* pool) RUN_NOEXCEPT;
uint32_t run_blocking_pool_waiting(const run_blocking_pool_t* pool) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
