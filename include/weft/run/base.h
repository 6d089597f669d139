// base.h: the parts that the whole C interface shares: status codes and times.
//
// See: docs/c_api.md
#pragma once

#include <stddef.h>
#include <stdint.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

// Functions of this interface throw no exceptions. A C enumeration may hold any int; in C++ so may
// these.
#ifdef __cplusplus
#define RUN_NOEXCEPT noexcept
#define RUN_INT_ENUM : int
extern "C" {
#else
#define RUN_NOEXCEPT
#define RUN_INT_ENUM
#endif

/// The result of a call. Values are never reused; new ones may be added.
typedef enum run_status RUN_INT_ENUM {
    RUN_OK = 0,           ///< done
    RUN_CLOSED = 1,       ///< the channel is closed and, for a receive, drained
    RUN_TIMEOUT = 2,      ///< the call's own timeout passed first
    RUN_WOULD_BLOCK = 3,  ///< the call could not complete at once and was not to wait
    RUN_CANCELLED = 4,    ///< a scope or a future around the caller was cancelled
    RUN_EXPIRED = 5,      ///< the deadline of a scope around the caller passed
    RUN_EXHAUSTED = 6,    ///< no memory, threads, or address space for stacks; nothing has changed
    RUN_INVALID = 7,      ///< an argument is NULL or out of range, or the caller may not call this
    RUN_BUSY = 8,         ///< it exists already
    RUN_FAILED = 9,       ///< a task of the scope has failed
    RUN_SYSTEM = 10,      ///< the system reported an error, given by errno's value
    RUN_NOT_FOUND = 11,   ///< a name does not exist
} run_status_t;

/// Describes status for messages: "the channel is closed". Never NULL; static storage.
const char* run_status_text(run_status_t status) RUN_NOEXCEPT;

// Times are in nanoseconds. A timeout of zero or less: do not wait (RUN_WOULD_BLOCK); RUN_FOREVER:
// no limit.
#define RUN_FOREVER INT64_MAX

/// The current time on the monotonic clock (CLOCK_MONOTONIC).
int64_t run_now_ns(void) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
