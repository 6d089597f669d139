// debug.h: looking at a running program: what every green thread does, and what the scheduler has counted.
//
// See: docs/c_api.md, docs/debugging.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a scheduler has counted since it was started, and what it has now. Taken without stopping anything: the figures are each
// right, not all of the same instant.
typedef struct run_counts {
    size_t size;            // sizeof(run_counts_t), to be set by the caller: tells which of the following are filled in
    uint64_t procs;         // processors
    uint64_t procs_idle;    // processors without an OS thread
    uint64_t threads;       // OS threads
    uint64_t threads_idle;  // OS threads asleep
    uint64_t threads_spinning;
    uint64_t spawned;       // green threads ever started
    uint64_t finished;      // green threads that have ended
    uint64_t live;          // spawned - finished
    uint64_t switches;      // green threads that were given an OS thread to run on
    uint64_t parks;         // waits that really blocked
    uint64_t steals;        // green threads taken from another processor
    uint64_t steal_rounds;  // times a processor went stealing
    uint64_t global_gets;   // green threads taken from the global queue
    uint64_t overflows;     // times a full queue spilled half of itself to the global queue
    uint64_t wakes;         // wakes of sleeping OS threads
    uint64_t timers_fired;
    uint64_t stacks_mapped;  // slots of mapped stack slabs
    uint64_t stack_cache_hits;
    uint64_t stack_cache_misses;
    uint64_t g_cache_hits;
    uint64_t g_cache_misses;
} run_counts_t;

#define RUN_COUNTS_INIT {sizeof(run_counts_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// Fills in counts for the caller's scheduler, or the default one; zeros if there is none yet. Any thread.
run_status_t run_stats(run_counts_t* counts) RUN_NOEXCEPT;

// Writes a report on every green thread of the caller's scheduler (or the default one) to the file descriptor fd: state, what it waits
// for and for how long, where it was started, which function it runs, backtrace. Any thread. Nothing is allocated.
run_status_t run_dump(int fd) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
