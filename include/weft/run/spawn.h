// spawn.h: starts green threads, and changes the properties of the calling one.
//
// A green thread (G) costs 256 bytes until it first runs, then its own stack, of which only touched
// pages cost memory. After any call that can wait it may be on another OS thread.
// docs/users_rules.md says what that means for errno, thread-locals and foreign locks.
//
// See: docs/c_api.md, docs/green_threads.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Describes what a green thread works on (docs/labels.md).
typedef struct run_label {
    const char* key;
    const char* value;
} run_label_t;

/// Scheduling order: high before normal, low only if there is nothing else. None starves
/// (docs/priorities.md). Not inherited.
typedef enum run_priority RUN_INT_ENUM {
    RUN_PRIORITY_NORMAL = 0,
    RUN_PRIORITY_HIGH = 1,
    RUN_PRIORITY_LOW = 2,
} run_priority_t;

typedef struct run_spawn_opts {
    size_t size;          ///< sizeof(run_spawn_opts_t): tells which of the following exist
    const char* name;     ///< shown in dumps and reports; copied, cut at 31 bytes. NULL: none
    size_t stack_size;    ///< usable bytes; 0: the scheduler's default. Rounded up to a size class; at most 64 MiB
    bool own_fp_control;  ///< changes rounding or exception masks (MXCSR, x87, FPCR): switches carry them
    size_t label_count;   ///< the number of labels …
    const run_label_t*
        labels;  ///< … shown in dumps; copied, and added to those inherited from the starting green thread
    run_priority_t priority;
    bool preemptible;  ///< may be interrupted anywhere: see preempt.h
} run_spawn_opts_t;

#define RUN_SPAWN_OPTS_INIT {sizeof(run_spawn_opts_t), NULL, 0, false, 0, NULL, RUN_PRIORITY_NORMAL, false}

/// Starts fn(arg) as a green thread. Any thread. RUN_INVALID if fn is NULL or an option is out of
/// range; RUN_EXHAUSTED; nothing has been started then. O(1), allocates nothing. If fn is C++ and
/// throws, the process ends with a report that names the green thread.
///
/// Also macros that call run_spawn_at, so that dumps can show where a green thread was started.
run_status_t run_spawn(void (*fn)(void* arg), void* arg) RUN_NOEXCEPT;
run_status_t run_spawn_with(const run_spawn_opts_t* opts, void (*fn)(void* arg), void* arg) RUN_NOEXCEPT;

/// The same, as if called at line of function in file. These strings must live as long as the
/// program. opts may be NULL.
run_status_t run_spawn_at(const run_spawn_opts_t* opts,
                          void (*fn)(void* arg),
                          void* arg,
                          const char* file,
                          int line,
                          const char* function) RUN_NOEXCEPT;

#define run_spawn(fn, arg) run_spawn_at(NULL, (fn), (arg), __FILE__, __LINE__, __func__)
#define run_spawn_with(opts, fn, arg) run_spawn_at((opts), (fn), (arg), __FILE__, __LINE__, __func__)

/// Lets other runnable green threads run first. Returns whether one ran. Does nothing in a plain
/// thread and returns false.
bool run_yield(void) RUN_NOEXCEPT;

/// A cheap preemption point for long computations: yields if the scheduler has asked for it or the
/// caller has used up its time slice. Any thread; does nothing in a plain one.
void run_checkpoint(void) RUN_NOEXCEPT;

/// The caller's number, unique in its scheduler, counted from 1 (main); 0 in a plain thread.
uint64_t run_g_id(void) RUN_NOEXCEPT;

/// The caller's name; "" if it has none, and in a plain thread. Valid until it ends or changes its
/// name.
const char* run_g_name(void) RUN_NOEXCEPT;

/// Change the caller's name (NULL: none), add a label, which later children inherit, or change its
/// class. Do nothing in a plain thread. RUN_INVALID for an invalid argument; for a label also
/// RUN_EXHAUSTED.
run_status_t run_set_name(const char* name) RUN_NOEXCEPT;
run_status_t run_set_label(const char* key, const char* value) RUN_NOEXCEPT;
run_status_t run_set_priority(run_priority_t priority) RUN_NOEXCEPT;

/// Its class, as last set; RUN_PRIORITY_NORMAL in a plain thread.
run_priority_t run_get_priority(void) RUN_NOEXCEPT;

/// run_pin keeps the caller on its OS thread, which runs nothing else, until run_unpin() has been
/// called as often (docs/pin.md). If a green thread ends while pinned, its OS thread ends too.
/// run_pin() does nothing in a plain thread. run_unpin(): RUN_INVALID if the caller is not pinned.
run_status_t run_pin(void) RUN_NOEXCEPT;
run_status_t run_unpin(void) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
