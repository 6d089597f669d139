// blocking.h: announces calls that block the OS thread, so that others are not held up.
//
//     run_blocking_call_t call;
//     run_blocking_enter(&call);
//     n = read(fd, buffer, size);
//     run_blocking_exit(&call);
//
// Between the two the caller counts as a plain thread. If the call takes long and other green
// threads wait, its processor is handed off. run_blocking() does the same for a function, which
// runs on the OS thread's own, larger stack.
//
// If calls from one place are usually long, give it a run_blocking_site_t with static storage,
// initially zero. It remembers that, and the processor is handed off before the next such call.
//
// A run_blocking_pool_t limits the number of concurrent calls, for resources such as a database or
// a disk.
//
// See: docs/blocking.md, docs/c_api.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What is known about the calls from one place. Initially zero; any number of threads may share
/// it.
typedef struct run_blocking_site {
    uint32_t typical_ns;
} run_blocking_site_t;

/// One call in progress. Lies in the caller's frame.
typedef struct run_blocking_call {
    void* m;
    int64_t began_ns;
    void* context;
    run_blocking_site_t* site;
} run_blocking_call_t;

/// Begin and end a blocking call. Any thread; in a plain thread, and inside another blocking call,
/// they do nothing. Each enter needs an exit with the same call, in the same function. After exit
/// the caller may be on another OS thread. errno is preserved.
void run_blocking_enter(run_blocking_call_t* call) RUN_NOEXCEPT;
void run_blocking_enter_at(run_blocking_call_t* call, run_blocking_site_t* site) RUN_NOEXCEPT;
void run_blocking_exit(run_blocking_call_t* call) RUN_NOEXCEPT;

/// Calls fn(arg) as a blocking call, on the OS thread's own stack. site may be NULL. RUN_INVALID if
/// fn is NULL.
run_status_t run_blocking(run_blocking_site_t* site, void (*fn)(void* arg), void* arg) RUN_NOEXCEPT;

typedef struct run_blocking_pool run_blocking_pool_t;

/// Makes a pool for cap concurrent calls, 1 to 2^30 - 1: else RUN_INVALID. RUN_EXHAUSTED if there
/// is no memory. Free accepts NULL; no call may be in progress or waiting then.
run_status_t run_blocking_pool_make(run_blocking_pool_t** pool, uint32_t cap) RUN_NOEXCEPT;
void run_blocking_pool_free(run_blocking_pool_t* pool) RUN_NOEXCEPT;

/// As run_blocking, once the pool has room: in order of arrival, waiting as a green thread. The
/// pool takes the place of a site. A cancellation point while it waits: RUN_CANCELLED, RUN_EXPIRED,
/// without calling fn.
run_status_t run_blocking_pool_run(run_blocking_pool_t* pool, void (*fn)(void* arg), void* arg) RUN_NOEXCEPT;

/// The number of calls in progress, and of calls that wait for room; snapshots. 0 for NULL.
uint32_t run_blocking_pool_running(const run_blocking_pool_t* pool) RUN_NOEXCEPT;
uint32_t run_blocking_pool_waiting(const run_blocking_pool_t* pool) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
