// gmp.h: looking at green threads (G), OS threads (M) and processors (P) by the names of the GMP design.
//
// For observation: tests, tools, code that was written against these names. Nothing here stops or changes anything. What is read of another
// thread's object is a snapshot, which may be over when the call returns.
//
// The types are opaque and belong to the scheduler of the caller, or to the default one. Nothing has to be given back.
//
//   run_g_t   readable as long as its scheduler exists. One whose green thread has ended reads as G_DEAD, G_IDLE (its memory went back),
//             or as another green thread that was started since: run_g_get_id tells, since no number is used twice.
//   run_m_t   OS threads come and go; one that has ended reads as nothing: each accessor says what that is.
//   run_p_t   readable as long as its scheduler exists.
//
// NULL may be given to every accessor; it reads as nothing. Any thread may call everything.
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

// What a green thread does. The short names are those of the design; define RUN_NO_SHORT_NAMES before the #include to be without.
typedef enum run_g_status RUN_INT_ENUM {
    RUN_G_IDLE = 0,      // never used, or its memory went back
    RUN_G_RUNNABLE = 1,  // queued, or about to be
    RUN_G_RUNNING = 2,   // on an OS thread, in a declared blocking call too
    RUN_G_WAITING = 3,   // parked: for a channel, a lock, a timer, a descriptor …
    RUN_G_DEAD = 4,      // has ended
#ifndef RUN_NO_SHORT_NAMES
    G_IDLE = RUN_G_IDLE,
    G_RUNNABLE = RUN_G_RUNNABLE,
    G_RUNNING = RUN_G_RUNNING,
    G_WAITING = RUN_G_WAITING,
    G_DEAD = RUN_G_DEAD,
#endif
} run_g_status_t;

// What a processor does.
typedef enum run_p_status RUN_INT_ENUM {
    RUN_P_IDLE = 0,     // no OS thread has it
    RUN_P_RUNNING = 1,  // an OS thread has it: runs green threads, or looks for some
    RUN_P_SYSCALL = 2,  // the OS thread that has it is in a declared blocking call; it may be handed to another one
#ifndef RUN_NO_SHORT_NAMES
    P_IDLE = RUN_P_IDLE,
    P_RUNNING = RUN_P_RUNNING,
    P_SYSCALL = RUN_P_SYSCALL,
#endif
} run_p_status_t;

// The caller's green thread, its OS thread, and the processor that this one has. NULL in a plain thread; run_current_p also where the
// processor was handed to another OS thread. The last two may be others after any call that can wait.
run_g_t* run_current_g(void) RUN_NOEXCEPT;
run_m_t* run_current_m(void) RUN_NOEXCEPT;
run_p_t* run_current_p(void) RUN_NOEXCEPT;

// Processor index, from 0; NULL from run_procs() on.
run_p_t* run_p_at(unsigned index) RUN_NOEXCEPT;

// Its number, from 1 (main); 0 for NULL. That of the caller is also run_g_id().
uint64_t run_g_get_id(const run_g_t* g) RUN_NOEXCEPT;

// RUN_G_DEAD for NULL.
run_g_status_t run_g_get_status(const run_g_t* g) RUN_NOEXCEPT;

// Its stack: the lowest address that may be used, and the bytes from there to the highest. NULL and 0 unless g is the caller's.
void* run_g_get_stack_base(const run_g_t* g) RUN_NOEXCEPT;
size_t run_g_get_stack_size(const run_g_t* g) RUN_NOEXCEPT;

// The processor that it ran on last, or runs on. NULL for NULL, and for one that has not run.
run_p_t* run_g_get_last_p(const run_g_t* g) RUN_NOEXCEPT;

// Whether the scheduler has asked the caller to let others run, or has handed its processor to others: run_yield() is due. false unless g is
// the caller's. run_checkpoint() asks the same, looks at the time slice too, and yields.
bool run_g_get_preempt(const run_g_t* g) RUN_NOEXCEPT;

// Its number, from 0; the one that called run_scheduler_init is 0. UINT64_MAX for one that has ended, and for NULL.
uint64_t run_m_get_id(const run_m_t* m) RUN_NOEXCEPT;

// The system's number of the thread, as in top -H. 0 for one that has ended, or has not begun.
int64_t run_m_get_thread_id(const run_m_t* m) RUN_NOEXCEPT;

// The green thread that it runs, or whose blocking call it makes; the processor that it has. NULL for none.
run_g_t* run_m_get_current_g(const run_m_t* m) RUN_NOEXCEPT;
run_p_t* run_m_get_current_p(const run_m_t* m) RUN_NOEXCEPT;

// Its number, from 0. UINT32_MAX for NULL.
uint32_t run_p_get_id(const run_p_t* p) RUN_NOEXCEPT;

// RUN_P_IDLE for NULL, and for one beyond run_procs().
run_p_status_t run_p_get_status(const run_p_t* p) RUN_NOEXCEPT;

// How many green threads are queued on it.
uint32_t run_p_get_run_queue_len(const run_p_t* p) RUN_NOEXCEPT;

// The OS thread that has it; NULL for none.
run_m_t* run_p_get_bound_m(const run_p_t* p) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
