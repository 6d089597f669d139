// scheduler.h: starting and ending the scheduler of a C program.
//
//     int main(void) {
//         run_scheduler_init();          // from here on main is a green thread
//         run_spawn(worker, &job);
//         …
//         return run_scheduler_stop() == RUN_OK ? 0 : 1;
//     }
//
// run_scheduler_init makes the calling thread M0, gives it processor 0, and goes on as the main green thread (number 1, "main") on
// the stack it has: what would block the thread parks it from then on, and others run meanwhile. As any green thread it may be on
// another OS thread after a call that waits; run_scheduler_stop brings it back to the one that called init, and ends the rest.
//
// All other functions of this interface may be called before and without it, by any thread: a plain OS thread blocks where a
// green thread parks, and the green threads it starts run on a default scheduler with threads of its own, which is started at
// first use and never stops. A library should leave run_scheduler_init to the program.
//
// Environment: RUN_MAXPROCS, RUN_STACK_MAX, RUN_STACK_POLICY, RUN_MAX_THREADS, RUN_PREEMPT_SIGNAL, RUN_SLICE, RUN_THREAD_IDLE, RUN_DEBUG
// (docs/environment.md).
//
// See: docs/c_api.md, docs/runtime.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// The most processors (green threads that are scheduled at once), and what RUN_MAX_THREADS is if it is not set: the most OS threads.
#define RUN_MAX_P_COUNT 1024
#define RUN_MAX_M_COUNT 10000

// Where the memory of stacks comes from; see docs/stacks.md.
typedef enum run_stack_policy RUN_INT_ENUM {
    RUN_STACKS_AUTOMATIC = 0,  // RUN_STACK_POLICY, else paged
    RUN_STACKS_PAGED = 1,
    RUN_STACKS_FIXED = 2,
    RUN_STACKS_GROWING = 3,
} run_stack_policy_t;

typedef struct run_scheduler_opts {
    size_t size;                // sizeof(run_scheduler_opts_t): tells which of the following there are
    unsigned procs;             // processors. 0: RUN_MAXPROCS, else what affinity and cgroup allow
    bool always_guard;          // refuse stacks that cannot get a guard region, instead of checking them at each switch
    size_t stack_size;          // usable bytes of a default stack, 16 KiB to 64 MiB. 0: RUN_STACK_MAX, else 256 KiB
    const char* name;           // begins the names of its threads; copied. NULL: "weft"
    run_stack_policy_t stacks;  // where their memory comes from
    int64_t slice_ns;  // how long a green thread may run while others wait, 10 us to 10 s. 0: RUN_SLICE, else 10 ms
    bool no_retake;    // processors stay with who blocks or computes, though others wait; as RUN_DEBUG=retake=0
    int preempt_signal;  // what interrupts code marked as preemptible. 0: RUN_PREEMPT_SIGNAL, else SIGURG; or RUN_NO_SIGNAL
    int64_t
        watchdog_ns;  // stderr says which green thread runs, or waits for a processor, for longer. 0: RUN_DEBUG=watchdog=, else none
    // Memory of ended green threads that was not needed for so long goes back to the system; 1 ms to 1 h. 0: RUN_MEMORY_IDLE, else 2 s; or
    // RUN_KEEP_MEMORY.
    int64_t memory_idle_ns;
} run_scheduler_opts_t;

// As preempt_signal: nothing interrupts.
#define RUN_NO_SIGNAL (-1)

// As memory_idle_ns: it stays.
#define RUN_KEEP_MEMORY (-1)

#define RUN_SCHEDULER_OPTS_INIT \
    {sizeof(run_scheduler_opts_t), 0, false, 0, NULL, RUN_STACKS_AUTOMATIC, 0, false, 0, 0, 0}

// The calling plain thread goes on as the main green thread of a new scheduler. RUN_BUSY if there is one already, made by this
// function or by weft::main; RUN_INVALID from a green thread; RUN_EXHAUSTED.
run_status_t run_scheduler_init(void) RUN_NOEXCEPT;

// The same with options; opts may be NULL. RUN_INVALID also if one of them is out of range.
run_status_t run_scheduler_init_with(const run_scheduler_opts_t* opts) RUN_NOEXCEPT;

// The same, as if called in line of function in file, which have to live as long as the program: dumps say so. The two above are also
// macros that call this one.
run_status_t run_scheduler_init_at(const run_scheduler_opts_t* opts, const char* file, int line, const char* function)
    RUN_NOEXCEPT;

#define run_scheduler_init() run_scheduler_init_at(NULL, __FILE__, __LINE__, __func__)
#define run_scheduler_init_with(opts) run_scheduler_init_at((opts), __FILE__, __LINE__, __func__)

// Ends the scheduler and returns on the thread that called init, which is a plain one again. To be called by the main green thread:
// else RUN_INVALID. No other green thread is scheduled from here on, and those that have not finished are abandoned, as when main
// returns: their functions do not go on, locks they hold stay locked. Values that lie in channels are forgotten with these.
//
// Other green threads that run right now reach their next scheduling point first. One that computes or blocks for longer than 100
// ms keeps its OS thread and the scheduler's memory: RUN_TIMEOUT, and all else is as for RUN_OK. If it does so on the very
// thread that called init, this function waits for it.
run_status_t run_scheduler_stop(void) RUN_NOEXCEPT;

// How run_scheduler_stop_for went.
typedef struct run_stop_outcome {
    size_t size;       // sizeof(run_stop_outcome_t), set by the caller: what it knows of; then: how much was filled in
    size_t drained;    // green threads that finished during it
    size_t cancelled;  // waits that it interrupted; those that would have begun later are not counted
    size_t abandoned;  // green threads that had not finished, and never will, but for those of stragglers
    size_t
        stragglers;  // OS threads whose green thread has not come back: they are left behind, with the scheduler's memory
} run_stop_outcome_t;

#define RUN_STOP_OUTCOME_INIT {sizeof(run_stop_outcome_t), 0, 0, 0, 0}

// The same with good manners: every wait of the others that can be cancelled ends with RUN_CANCELLED (in C++ functions with
// weft::cancelled), those that go on already and those that begin later, as if all of them ran in a scope that was cancelled. Then it waits
// until all have finished, at most for timeout_ns: not at all if that is zero or less, as long as it takes for RUN_FOREVER. Then as
// run_scheduler_stop; but those that have not come back 100 ms after that, where they may be found, are named on stderr, too.
// outcome may be NULL; it is filled in for RUN_OK and RUN_TIMEOUT. Not a cancellation point.
run_status_t run_scheduler_stop_for(int64_t timeout_ns, run_stop_outcome_t* outcome) RUN_NOEXCEPT;

// The number of processors of the caller's scheduler, or of the default one; 0 if there is none yet.
unsigned run_procs(void) RUN_NOEXCEPT;

// Changes that to n, at most RUN_MAX_P_COUNT, while green threads run; 0: the usual number, RUN_MAXPROCS, else as many as affinity and
// CPU quota allow, followed from then on while they change. Returns when it is so; before, which may be NULL, is how many it was. Nothing is
// lost: what is queued and what sleeps on a processor that goes is taken over by others. Any thread; one without a scheduler
// starts the default one. RUN_INVALID if n is too large, RUN_EXHAUSTED; then nothing has changed.
run_status_t run_set_max_procs(unsigned n, unsigned* before) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
