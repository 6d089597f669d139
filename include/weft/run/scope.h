// scope.h: green threads that end where they were started; deadlines and cancellation for whole pieces of code.
//
//     run_scope_t* scope;
//     run_scope_begin(&scope);
//     run_scope_go(scope, fetch, &a);
//     run_scope_go(scope, fetch, &b);
//     int first_failure;
//     run_status_t status = run_scope_join(scope, &first_failure);   // here both have ended: a and b may go
//
// Between begin and join the caller and the tasks are in the scope. A task that returns other than 0 has failed: then the scope is
// cancelled, as by run_scope_cancel. In a cancelled scope every cancellation point that would wait returns RUN_CANCELLED, in one whose
// deadline has passed RUN_EXPIRED; what can be done at once is done. C cannot unwind: functions check what they get, and return.
//
// Cancellation points: channel sends and receives, select, sleep, future, condition, semaphore and event waits, and everything whose
// name ends in _for. Never interrupted: locks, once, and whatever joins (wait group, latch, barrier, run_scope_join).
//
// Scopes nest, in one green thread and across them: cancelling one cancels those inside. begin and join belong to the same thread, green
// or plain, in the order of brackets.
//
// See: docs/c_api.md, docs/cancellation.md
#pragma once

#include <weft/run/spawn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_scope run_scope_t;

typedef struct run_scope_opts {
    size_t size;  // sizeof(run_scope_opts_t): tells which of the following there are
    int64_t
        timeout_ns;  // from now; RUN_FOREVER: no deadline of its own. The earliest of the deadlines around a wait counts
} run_scope_opts_t;

#define RUN_SCOPE_OPTS_INIT {sizeof(run_scope_opts_t), RUN_FOREVER}

// Opens a scope around what the caller does next. opts may be NULL. RUN_EXHAUSTED if there is no memory.
run_status_t run_scope_begin(run_scope_t** scope) RUN_NOEXCEPT;
run_status_t run_scope_begin_with(run_scope_t** scope, const run_scope_opts_t* opts) RUN_NOEXCEPT;

// Starts fn(arg) as a green thread of the scope. To be called by who is in the scope. As run_spawn; also a macro, that calls the other one.
run_status_t run_scope_go(run_scope_t* scope, int (*fn)(void* arg), void* arg) RUN_NOEXCEPT;
run_status_t run_scope_go_at(run_scope_t* scope,
                             const run_spawn_opts_t* opts,
                             int (*fn)(void* arg),
                             void* arg,
                             const char* file,
                             int line,
                             const char* function) RUN_NOEXCEPT;

#define run_scope_go(scope, fn, arg) run_scope_go_at((scope), NULL, (fn), (arg), __FILE__, __LINE__, __func__)

// Cancels everything that runs in the scope, its opener included. Any thread, as long as it is open.
run_status_t run_scope_cancel(run_scope_t* scope) RUN_NOEXCEPT;

// Whether it was cancelled: by run_scope_cancel, by a failure, or from around; or a deadline around it has passed. false for NULL.
bool run_scope_is_cancelled(run_scope_t* scope) RUN_NOEXCEPT;

// Waits for all tasks, and closes and frees the scope. RUN_OK; RUN_FAILED if a task has failed, and then *first_failure, unless that is
// NULL, is what the first of them returned; RUN_CANCELLED if there was none, but the scope was cancelled. RUN_INVALID, and nothing
// happens, if scope is not the innermost one around the caller.
run_status_t run_scope_join(run_scope_t* scope, int* first_failure) RUN_NOEXCEPT;

// What the next wait would return because of the scopes around the caller: RUN_OK, RUN_CANCELLED or RUN_EXPIRED. For long computations.
run_status_t run_cancel_status(void) RUN_NOEXCEPT;

// Between these nothing around the caller interrupts its waits, for what must be finished, such as saying goodbye. As brackets, in one
// thread; what begin returns goes to end.
void* run_shield_begin(void) RUN_NOEXCEPT;
void run_shield_end(void* shielded) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
