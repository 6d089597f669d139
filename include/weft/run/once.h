// once.h: calls a function only once, whatever the number of callers.
//
//     static run_once_t loaded = RUN_ONCE_INIT;
//     run_once(&loaded, load_tables, NULL);
//
// May be called by any thread. See: docs/c_api.md, docs/once.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Initialise it with RUN_ONCE_INIT; do not copy or access it otherwise. Needs no cleanup.
typedef struct run_once_state {
    uintptr_t opaque[4];
} run_once_t;

#define RUN_ONCE_INIT {{0, 0, 0, 0}}

/// Calls fn(arg), unless a call through once was made before; concurrent callers wait for that
/// call. fn must return. It must not call run_once with the same once, which is a fatal error. Not
/// a cancellation point. RUN_INVALID if once or fn is NULL.
run_status_t run_once(run_once_t* once, void (*fn)(void* arg), void* arg) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
