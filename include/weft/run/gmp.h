// gmp.h: inspects green threads (G), OS threads (M) and processors (P), named as in the GMP design.
//
// For tests, tools, and code written against these names. Nothing here stops or changes anything.
// Values read from another thread's object are snapshots and may be outdated on return.
//
// The types are opaque and belong to the scheduler of the caller, or to the default one. They need
// no release.
//
//   run_g_t   readable as long as its scheduler exists. After its green thread has ended it reads
//             as G_DEAD, G_IDLE (its memory was returned), or as a later green thread: run_g_get_id
//             tells, because numbers are never reused.
//   run_m_t   OS threads come and go. After its thread has ended, each accessor returns the value
//             stated below for that.
//   run_p_t   readable as long as its scheduler exists.
//
// Every accessor accepts NULL and returns the stated value. Any thread may call all functions.
//
// See: docs/c_api.md#names
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_g run_g_t;
typedef struct run_m run_m_t;
typedef struct run_p run_p_t;

/// The state of a green thread. The short names are those of the design; define RUN_NO_SHORT_NAMES
/// before the #include to omit them.
typedef enum run_g_status RUN_INT_ENUM {
    RUN_G_IDLE = 0,      ///< never used, or its memory was returned
    RUN_G_RUNNABLE = 1,  ///< queued, or about to be
    RUN_G_RUNNING = 2,   ///< on an OS thread, also in a blocking call
    RUN_G_WAITING = 3,   ///< parked: for a channel, a lock, a timer, a descriptor …
    RUN_G_DEAD = 4,      ///< has ended
#ifndef RUN_NO_SHORT_NAMES
    G_IDLE = RUN_G_IDLE,
    G_RUNNABLE = RUN_G_RUNNABLE,
    G_RUNNING = RUN_G_RUNNING,
    G_WAITING = RUN_G_WAITING,
    G_DEAD = RUN_G_DEAD,
#endif
} run_g_status_t;

/// The state of a processor.
typedef enum run_p_status RUN_INT_ENUM {
    RUN_P_IDLE = 0,     ///< no OS thread has it
    RUN_P_RUNNING = 1,  ///< an OS thread has it: runs green threads, or searches for some
    RUN_P_SYSCALL = 2,  ///< the OS thread that has it is in a blocking call; it may be handed off to another one
#ifndef RUN_NO_SHORT_NAMES
    P_IDLE = RUN_P_IDLE,
    P_RUNNING = RUN_P_RUNNING,
    P_SYSCALL = RUN_P_SYSCALL,
#endif
} run_p_status_t;

/// The caller's green thread, its OS thread, and the processor of that OS thread. NULL in a plain
/// thread; run_current_p also if the processor was handed off. The last two may change in any call
/// that can wait.
run_g_t* run_current_g(void) RUN_NOEXCEPT;
run_m_t* run_current_m(void) RUN_NOEXCEPT;
run_p_t* run_current_p(void) RUN_NOEXCEPT;

/// The processor with that index, from 0; NULL from run_procs() on.
run_p_t* run_p_at(unsigned index) RUN_NOEXCEPT;

/// Its number, from 1 (main); 0 for NULL. The caller's number is also run_g_id().
uint64_t run_g_get_id(const run_g_t* g) RUN_NOEXCEPT;

/// RUN_G_DEAD for NULL.
run_g_status_t run_g_get_status(const run_g_t* g) RUN_NOEXCEPT;

/// Its stack: the lowest usable address, and the number of usable bytes. NULL and 0 unless g is the
/// caller's.
void* run_g_get_stack_base(const run_g_t* g) RUN_NOEXCEPT;
size_t run_g_get_stack_size(const run_g_t* g) RUN_NOEXCEPT;

/// The processor that it ran on last, or runs on. NULL for NULL, and if it has not run.
run_p_t* run_g_get_last_p(const run_g_t* g) RUN_NOEXCEPT;

/// Whether the scheduler has asked the caller to yield, or has handed off its processor:
/// run_yield() is due. false unless g is the caller's. run_checkpoint() checks the same and the
/// time slice, and yields.
bool run_g_get_preempt(const run_g_t* g) RUN_NOEXCEPT;

/// Its number, from 0; the thread that called run_scheduler_init is 0. UINT64_MAX for an ended
/// thread, and for NULL.
uint64_t run_m_get_id(const run_m_t* m) RUN_NOEXCEPT;

/// The system's thread id, as in top -H. 0 for a thread that has ended, or has not begun.
int64_t run_m_get_thread_id(const run_m_t* m) RUN_NOEXCEPT;

/// The green thread that it runs, or whose blocking call it makes; the processor that it has. NULL:
/// none.
run_g_t* run_m_get_current_g(const run_m_t* m) RUN_NOEXCEPT;
run_p_t* run_m_get_current_p(const run_m_t* m) RUN_NOEXCEPT;

/// Its number, from 0. UINT32_MAX for NULL.
uint32_t run_p_get_id(const run_p_t* p) RUN_NOEXCEPT;

/// RUN_P_IDLE for NULL, and for an index beyond run_procs().
run_p_status_t run_p_get_status(const run_p_t* p) RUN_NOEXCEPT;

/// The number of green threads queued on it.
uint32_t run_p_get_run_queue_len(const run_p_t* p) RUN_NOEXCEPT;

/// The OS thread that has it; NULL: none.
run_m_t* run_p_get_bound_m(const run_p_t* p) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
