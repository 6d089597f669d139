// scheduler.h: starts and stops the scheduler of a C program.
//
//     int main(void) {
//         run_scheduler_init();          // from here on main is a green thread
//         run_spawn(worker, &job);
//         …
//         return run_scheduler_stop() == RUN_OK ? 0 : 1;
//     }
//
// run_scheduler_init makes the calling thread M0, gives it processor 0, and continues as the main
// green thread (number 1, "main") on the current stack. From then on, calls that would block park
// it, and others run. Like any green thread it may be on another OS thread after a call that waits.
// run_scheduler_stop returns on the thread that called init and ends the rest.
//
// All other functions of this interface may be called before init and without it, by any thread. A
// plain OS thread blocks where a green thread parks. The green threads that it starts run on a
// default scheduler with its own threads, which starts at first use and never stops. Libraries
// should leave run_scheduler_init to the program.
//
// Environment: RUN_MAXPROCS, RUN_STACK_MAX, RUN_STACK_POLICY, RUN_MAX_THREADS, RUN_PREEMPT_SIGNAL,
// RUN_SLICE, RUN_THREAD_IDLE, RUN_DEBUG (docs/environment.md).
//
// See: docs/c_api.md, docs/runtime.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// The maximum number of processors (green threads scheduled at once), and the default of
// RUN_MAX_THREADS, the maximum number of OS threads.
#define RUN_MAX_P_COUNT 1024
#define RUN_MAX_M_COUNT 10000

/// Where the memory of stacks comes from; see docs/stacks.md.
typedef enum run_stack_policy RUN_INT_ENUM {
    RUN_STACKS_AUTOMATIC = 0,  ///< RUN_STACK_POLICY, else paged
    RUN_STACKS_PAGED = 1,
    RUN_STACKS_FIXED = 2,
    RUN_STACKS_GROWING = 3,
} run_stack_policy_t;

typedef struct run_scheduler_opts {
    size_t size;        ///< sizeof(run_scheduler_opts_t): tells which of the following exist
    unsigned procs;     ///< processors. 0: RUN_MAXPROCS, else what affinity and cgroup allow
    bool always_guard;  ///< refuse stacks that cannot have a guard region, instead of checking them at each switch
    size_t stack_size;  ///< usable bytes of a default stack, 16 KiB to 64 MiB. 0: RUN_STACK_MAX, else 256 KiB
    const char* name;   ///< prefix of its threads' names; copied. NULL: "weft"
    run_stack_policy_t stacks;  ///< where stack memory comes from
    int64_t slice_ns;           ///< time slice while others wait, 10 us to 10 s. 0: RUN_SLICE, else 10 ms
    bool no_retake;             ///< never retake a processor from a blocked or computing thread; as RUN_DEBUG=retake=0
    int preempt_signal;  ///< interrupts code marked as preemptible. 0: RUN_PREEMPT_SIGNAL, else SIGURG; or RUN_NO_SIGNAL
    int64_t
        watchdog_ns;  ///< stderr names green threads that run, or wait to run, longer. 0: RUN_DEBUG=watchdog=, else none
    /// Memory of ended green threads that was unused for this long returns to the system; 1 ms to 1
    /// h. 0: RUN_MEMORY_IDLE, else 2 s; or RUN_KEEP_MEMORY.
    int64_t memory_idle_ns;
    /// Sleeps and timers may end so much later while no thread works, and share wake-ups; 0 to 1 s.
    /// 0: RUN_TIMER_SLACK, else as exact as the system is.
    int64_t timer_slack_ns;
} run_scheduler_opts_t;

// For preempt_signal: no interruption.
#define RUN_NO_SIGNAL (-1)

// For memory_idle_ns: the memory is kept.
#define RUN_KEEP_MEMORY (-1)

#define RUN_SCHEDULER_OPTS_INIT \
    {sizeof(run_scheduler_opts_t), 0, false, 0, NULL, RUN_STACKS_AUTOMATIC, 0, false, 0, 0, 0, 0}

/// Turns the calling plain thread into the main green thread of a new scheduler. RUN_BUSY if this
/// function or weft::main has already made one; RUN_INVALID from a green thread; RUN_EXHAUSTED.
run_status_t run_scheduler_init(void) RUN_NOEXCEPT;

/// The same with options; opts may be NULL. RUN_INVALID also for an option out of range.
run_status_t run_scheduler_init_with(const run_scheduler_opts_t* opts) RUN_NOEXCEPT;

/// The same, as if called at line of function in file, for dumps. These strings must live as long
/// as the program. The two functions above are also macros that call this one.
run_status_t run_scheduler_init_at(const run_scheduler_opts_t* opts, const char* file, int line, const char* function)
    RUN_NOEXCEPT;

#define run_scheduler_init() run_scheduler_init_at(NULL, __FILE__, __LINE__, __func__)
#define run_scheduler_init_with(opts) run_scheduler_init_at((opts), __FILE__, __LINE__, __func__)

/// Stops the scheduler and returns on the thread that called init, which is a plain thread again.
/// Must be called by the main green thread: else RUN_INVALID. From here on no other green thread is
/// scheduled. Unfinished ones are abandoned, as when main returns: their functions do not continue,
/// and locks they hold stay locked. Values in channels are lost with them.
///
/// Other running green threads first reach their next scheduling point. One that computes or blocks
/// for longer than 100 ms keeps its OS thread and the scheduler's memory: the result is
/// RUN_TIMEOUT, and all else is as for RUN_OK. If it occupies the thread that called init, this
/// function waits for it.
run_status_t run_scheduler_stop(void) RUN_NOEXCEPT;

/// The outcome of run_scheduler_stop_for.
typedef struct run_stop_outcome {
    size_t size;        ///< sizeof(run_stop_outcome_t), set by the caller; on return, how much was filled in
    size_t drained;     ///< green threads that finished during the call
    size_t cancelled;   ///< waits that it interrupted, not counting those that would have begun later
    size_t abandoned;   ///< green threads that have not finished and never will, except those of stragglers
    size_t stragglers;  ///< OS threads whose green thread has not come back: left behind, with the scheduler's memory
} run_stop_outcome_t;

#define RUN_STOP_OUTCOME_INIT {sizeof(run_stop_outcome_t), 0, 0, 0, 0}

/// A graceful stop. First, every cancellable wait of the others ends with RUN_CANCELLED (in C++
/// functions with weft::cancelled), including waits that begin later, as if all ran in a cancelled
/// scope. Then it waits until all have finished, for at most timeout_ns: not at all if zero or
/// less, without limit for RUN_FOREVER. Then it acts as run_scheduler_stop. Green threads that have
/// not come back 100 ms after that are also named on stderr, if they can be found. outcome may be
/// NULL; it is filled in for RUN_OK and RUN_TIMEOUT. Not a cancellation point.
run_status_t run_scheduler_stop_for(int64_t timeout_ns, run_stop_outcome_t* outcome) RUN_NOEXCEPT;

/// The number of processors of the caller's scheduler, or of the default one; 0 if neither exists
/// yet.
unsigned run_procs(void) RUN_NOEXCEPT;

/// Changes the number of processors to n, at most RUN_MAX_P_COUNT, while green threads run. 0: the
/// default number, i.e. RUN_MAXPROCS, else what affinity and CPU quota allow, and their later
/// changes are followed. Returns when the change has taken effect; before, which may be NULL,
/// receives the old number. Nothing is lost: other processors take over what is queued or sleeps on
/// a removed one. Any thread; one without a scheduler starts the default one. RUN_INVALID if n is
/// too large, RUN_EXHAUSTED; then nothing has changed.
run_status_t run_set_max_procs(unsigned n, unsigned* before) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
