// debug.h: inspects a running program: its green threads, and the scheduler's counters.
//
// See: docs/c_api.md, docs/debugging.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A scheduler's counters since its start, and its current figures. Collected without stopping
/// anything: each figure is right, but they are not all from the same instant.
typedef struct run_counts {
    size_t size;            ///< sizeof(run_counts_t), set by the caller; on return, how much was filled in
    uint64_t procs;         ///< processors
    uint64_t procs_idle;    ///< processors without an OS thread
    uint64_t threads;       ///< OS threads
    uint64_t threads_idle;  ///< OS threads asleep
    uint64_t threads_spinning;
    uint64_t spawned;       ///< green threads ever started
    uint64_t finished;      ///< green threads that have ended
    uint64_t live;          ///< spawned - finished
    uint64_t switches;      ///< times a green thread was given an OS thread to run on
    uint64_t parks;         ///< waits that really blocked
    uint64_t steals;        ///< green threads taken from another processor
    uint64_t steal_rounds;  ///< times a processor started to steal
    uint64_t global_gets;   ///< green threads taken from the global queue
    uint64_t overflows;     ///< times a full queue spilled half of itself to the global queue
    uint64_t wakes;         ///< wakes of sleeping OS threads
    uint64_t timers_fired;
    uint64_t stacks_mapped;  ///< slots of mapped stack slabs
    uint64_t stack_cache_hits;
    uint64_t stack_cache_misses;
    uint64_t g_cache_hits;
    uint64_t g_cache_misses;
    uint64_t stack_bytes_trimmed;  ///< memory of pooled stacks returned to the system

    /// Green threads by current state.
    uint64_t runnable;           ///< queued
    uint64_t running;            ///< on an OS thread, not in a blocking call
    uint64_t running_without_p;  ///< of these, those whose processor was taken away
    uint64_t in_call;            ///< in a blocking call
    uint64_t waiting;

    uint64_t hand_offs;        ///< processors that their own OS thread handed to another
    uint64_t preemptions;      ///< green threads that entered the scheduler on request
    uint64_t retakes_blocked;  ///< processors taken from an OS thread that did not run,
    uint64_t retakes_burning;  ///< that had computed for longer than a time slice,
    uint64_t retakes_in_call;  ///< that was in a blocking call
    uint64_t monitor_late;     ///< times the monitor was late: the machine was busy elsewhere, or stopped
    uint64_t yield_requests;   ///< green threads asked to yield at the end of their time slice,
    uint64_t preempted;        ///< that yielded in code that checks by itself,
    uint64_t interrupted;      ///< that were interrupted by a signal, in code marked as preemptible

    uint64_t monitor_looks;      ///< times the monitor has scanned the processors
    uint64_t thread_shortages;   ///< times a needed OS thread could not be created
    uint64_t threads_with_p;     ///< OS threads with a processor, including those that search for work
    uint64_t threads_without_p;  ///< OS threads without one that run a green thread or are in a call

    /// Where the runnable green threads are queued.
    uint64_t queued_local;   ///< on processors, normal class
    uint64_t queued_global;  ///< in the global queue
    uint64_t queued_high;    ///< of these classes, in any queue
    uint64_t queued_low;

    /// OS threads with a processor that shared a CPU and were moved to one where a green thread
    /// computed without a processor.
    uint64_t threads_moved;

    uint64_t stacks_unmapped;  ///< slots of stack slabs that were unmapped, with their page tables
    uint64_t g_bytes_trimmed;  ///< memory of ended green threads, without stacks, returned to the system
} run_counts_t;

// clang-format off
#define RUN_COUNTS_INIT {sizeof(run_counts_t), \
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
// clang-format on

/// Fills in counts for the caller's scheduler, or the default one; zeros if neither exists yet. Any
/// thread.
run_status_t run_stats(run_counts_t* counts) RUN_NOEXCEPT;

/// The stack depth used by the green threads that were started at one place.
typedef struct run_stack_use_at {
    const char* file;  ///< where they were started; line 0: all places beyond the 255th. Static storage
    int line;
    const char* function;
    uint64_t measured;  ///< times a stack was measured
    size_t waiting;     ///< bytes of frames in the deepest one found waiting: a lower bound for the size
    size_t touched;     ///< bytes down to the lowest touched page: an upper bound
} run_stack_use_at_t;

/// Fills in up to max places of the caller's scheduler, or the default one, the deepest first.
/// Returns the number of places; 0 also if there is no memory. See weft::stack_use in
/// <weft/debug.h> for what is measured and what is missed. Any thread.
size_t run_stack_use(run_stack_use_at_t* into, size_t max) RUN_NOEXCEPT;

/// Writes a report on every green thread of the caller's scheduler (or the default one) to the file
/// descriptor fd: state, what it waits for and for how long, where it was started, which function
/// it runs, backtrace. Any thread. Allocates nothing.
run_status_t run_dump(int fd) RUN_NOEXCEPT;

/// From now on this signal (SIGQUIT, SIGUSR1 …) makes each scheduler of the process write such a
/// dump to stderr, whatever its green threads do, including the stacks of running ones. See
/// weft::dump_on_signal in <weft/debug.h>. A handler that was installed before is called too.
/// RUN_INVALID if the signal cannot be used for that; RUN_BUSY if the library uses it for something
/// else. Any thread.
run_status_t run_dump_on_signal(int signal) RUN_NOEXCEPT;

/// Scheduling latency: how long green threads of the caller's scheduler, or of the default one,
/// were runnable before they ran. Returns the q-quantile (0 to 1) of a sample, in nanoseconds; see
/// docs/debugging.md. 0 if there are no samples.
uint64_t run_scheduling_latency_ns(double q) RUN_NOEXCEPT;

// The same sample as a histogram. Fills in up to max of its RUN_LATENCY_BUCKETS counts and returns
// the number of buckets. Bucket i holds times from run_latency_bucket_ns(i) on, below that of i +
// 1.
#define RUN_LATENCY_BUCKETS 160
size_t run_scheduling_latency(uint64_t* counts, size_t max) RUN_NOEXCEPT;
uint64_t run_latency_bucket_ns(size_t bucket) RUN_NOEXCEPT;

// The exit status of a process in which all green threads wait for ever (docs/deadlocks.md).
#define RUN_EXIT_DEADLOCK 86

/// Between these calls, something unknown to the scheduler, such as a signal handler, may wake
/// green threads. So no deadlock is reported. Calls nest: each begin needs its end. Any thread.
void run_external_waker_begin(void) RUN_NOEXCEPT;
void run_external_waker_end(void) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
