// scope.h: scopes that join the green threads started in them; deadlines and cancellation.
//
//     run_scope_t* scope;
//     run_scope_begin(&scope);
//     run_scope_go(scope, fetch, &a);
//     run_scope_go(scope, fetch, &b);
//     int first_failure;
//     run_status_t status = run_scope_join(scope, &first_failure);   // here both have ended: a and b may go
//
// Between begin and join the caller and the tasks are in the scope. A task fails if it returns a
// value other than 0. That cancels the scope, like run_scope_cancel. In a cancelled scope every
// cancellation point that would wait returns RUN_CANCELLED; after the scope's deadline it returns
// RUN_EXPIRED. Operations that need no wait still succeed. C cannot unwind, so functions must check
// the status and return.
//
// Cancellation points: channel sends and receives; select; sleep; waits for futures, conditions,
// semaphores and events; and every function whose name ends in _for. Never interrupted: locks,
// once, and all joins (wait group, latch, barrier, run_scope_join).
//
// Scopes nest, within and across green threads: cancelling a scope cancels those inside. Each begin
// needs its join in the same thread, green or plain, properly nested.
//
// See: docs/c_api.md, docs/cancellation.md
#pragma once

#include <weft/run/spawn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_scope run_scope_t;

typedef struct run_scope_opts {
    size_t size;         ///< sizeof(run_scope_opts_t): tells which of the following exist
    int64_t timeout_ns;  ///< from now; RUN_FOREVER: no own deadline. The earliest deadline around a wait applies
} run_scope_opts_t;

#define RUN_SCOPE_OPTS_INIT {sizeof(run_scope_opts_t), RUN_FOREVER}

/// Opens a scope around the code that follows. opts may be NULL. RUN_EXHAUSTED if there is no
/// memory.
run_status_t run_scope_begin(run_scope_t** scope) RUN_NOEXCEPT;
run_status_t run_scope_begin_with(run_scope_t** scope, const run_scope_opts_t* opts) RUN_NOEXCEPT;

/// Starts fn(arg) as a green thread of the scope, like run_spawn. The caller must be in the scope.
/// Also a macro, which calls run_scope_go_at.
run_status_t run_scope_go(run_scope_t* scope, int (*fn)(void* arg), void* arg) RUN_NOEXCEPT;
run_status_t run_scope_go_at(run_scope_t* scope,
                             const run_spawn_opts_t* opts,
                             int (*fn)(void* arg),
                             void* arg,
                             const char* file,
                             int line,
                             const char* function) RUN_NOEXCEPT;

#define run_scope_go(scope, fn, arg) run_scope_go_at((scope), NULL, (fn), (arg), __FILE__, __LINE__, __func__)

/// Cancels everything in the scope, including its opener. Any thread, while the scope is open.
run_status_t run_scope_cancel(run_scope_t* scope) RUN_NOEXCEPT;

/// Whether it was cancelled: by run_scope_cancel, by a failure, or through a scope around it; or a
/// deadline around it has passed. false for NULL.
bool run_scope_is_cancelled(run_scope_t* scope) RUN_NOEXCEPT;

/// Waits for all tasks, then closes and frees the scope. RUN_OK; RUN_FAILED if a task has failed,
/// with the first failing task's return value in *first_failure, unless NULL; RUN_CANCELLED if none
/// failed but the scope was cancelled. RUN_INVALID, without effect, if scope is not the innermost
/// one around the caller.
run_status_t run_scope_join(run_scope_t* scope, int* first_failure) RUN_NOEXCEPT;

/// What the next wait would return because of the scopes around the caller: RUN_OK, RUN_CANCELLED
/// or RUN_EXPIRED. For long computations.
run_status_t run_cancel_status(void) RUN_NOEXCEPT;

/// Between these two calls, the scopes around the caller do not interrupt its waits: for work that
/// must be finished, such as an orderly shutdown. Nested properly, in one thread; pass the result
/// of begin to end.
void* run_shield_begin(void) RUN_NOEXCEPT;
void run_shield_end(void* shielded) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
