// base.h: what all of the C interface shares: status codes, times.
//
// See: docs/c_api.md
#pragma once

#include <stddef.h>
#include <stdint.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

// No exception leaves a function of this interface. In C an enumeration may hold any int; so may these in C++.
#ifdef __cplusplus
#define RUN_NOEXCEPT noexcept
#define RUN_INT_ENUM : int
extern "C" {
#else
#define RUN_NOEXCEPT
#define RUN_INT_ENUM
#endif

// How a call ended. Values are never reused; new ones may come.
typedef enum run_status RUN_INT_ENUM {
    RUN_OK = 0,           // done
    RUN_CLOSED = 1,       // the channel is closed and, for a receive, drained
    RUN_TIMEOUT = 2,      // the call was to wait for a limited time, and that was up first
    RUN_WOULD_BLOCK = 3,  // the call was not to wait, and could not be done at once
    RUN_CANCELLED = 4,    // a scope or a future around the caller was cancelled
    RUN_EXPIRED = 5,      // the deadline of a scope around the caller passed
    RUN_EXHAUSTED = 6,    // no memory, threads, or address space for stacks; nothing has happened
    RUN_INVALID = 7,      // an argument is NULL or out of range, or the caller is one that may not call this
    RUN_BUSY = 8,         // there is one already
    RUN_FAILED = 9,       // a task of the scope has failed
    RUN_SYSTEM = 10,      // the system says no, and errno's value says why
    RUN_NOT_FOUND = 11,   // a name was looked up in vain
} run_status_t;

// What status is called, for messages: "the channel is closed". Never NULL. Static.
const char* run_status_text(run_status_t status) RUN_NOEXCEPT;

// Times are nanoseconds. A timeout of zero or less: do not wait (RUN_WOULD_BLOCK); RUN_FOREVER: as long as it takes.
#define RUN_FOREVER INT64_MAX

// Now, on the monotonic clock (CLOCK_MONOTONIC).
int64_t run_now_ns(void) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
