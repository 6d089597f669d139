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

#ifdef __cplusplus
}
#endif
