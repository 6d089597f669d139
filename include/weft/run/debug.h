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
    uint64_t stack_bytes_trimmed;  // memory of pooled stacks that went back to the system
} run_counts_t;

#define RUN_COUNTS_INIT {sizeof(run_counts_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// Fills in counts for the caller's scheduler, or the default one; zeros if there is none yet. Any thread.
run_status_t run_stats(run_counts_t* counts) RUN_NOEXCEPT;

// How deep the stacks of the green threads that were started at one place were used.
typedef struct run_stack_use_at {
    const char* file;  // where they were started; line 0: all places beyond the 255th. Static
    int line;
    const char* function;
    uint64_t measured;  // times one was looked at
    size_t waiting;     // bytes of frames of the deepest that was found waiting: so much at least is needed
    size_t touched;     // bytes down to the lowest page touched: so much is enough
} run_stack_use_at_t;

// Fills in up to max places of the caller's scheduler, or the default one, the deepest first, and returns how many there are; 0 also if
// there is no memory. See weft::stack_use in <weft/debug.h> for what is measured and what is missed. Any thread.
size_t run_stack_use(run_stack_use_at_t* into, size_t max) RUN_NOEXCEPT;

// Writes a report on every green thread of the caller's scheduler (or the default one) to the file descriptor fd: state, what it waits
// for and for how long, where it was started, which function it runs, backtrace. Any thread. Nothing is allocated.
run_status_t run_dump(int fd) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
