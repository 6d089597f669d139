// time.h: sleeping and timers.
//
// See: docs/c_api.md, docs/timers.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Waits for at least ns nanoseconds; RUN_FOREVER: for ever. Returns at once if ns is zero or less.
/// Any thread. A cancellation point: RUN_CANCELLED, RUN_EXPIRED.
run_status_t run_sleep_ns(int64_t ns) RUN_NOEXCEPT;

/// The same until run_now_ns() is deadline_ns.
run_status_t run_sleep_until_ns(int64_t deadline_ns) RUN_NOEXCEPT;

// ---- Timers: tick later, once or periodically; or call a function later, on its own green thread.
//
// A tick stays until it is received, stopped, or reset. After stop or reset has returned, no
// earlier tick is received. Missed ticks are not counted: while one is pending, the next ones are
// skipped. A timer belongs to the scheduler of the thread that starts it, or the default one, and
// stops with it. Timers never fire early. Delays of zero or less fire at once.
//
// Any thread. timer NULL: RUN_INVALID. A timer can be a case of run_select.
typedef struct run_timer run_timer_t;

/// Makes a timer that ticks in delay_ns, and then every period_ns, unless that is 0. RUN_INVALID if
/// period_ns is negative; RUN_EXHAUSTED.
run_status_t run_timer_make(run_timer_t** timer, int64_t delay_ns, int64_t period_ns) RUN_NOEXCEPT;

/// Makes a timer that calls fn(arg) in delay_ns. All resources for the call are allocated now.
/// RUN_INVALID if fn is NULL; RUN_EXHAUSTED. Also a macro, which calls run_after_func_at. fn must
/// not call run_g_exit.
run_status_t run_after_func(run_timer_t** timer, int64_t delay_ns, void (*fn)(void* arg), void* arg) RUN_NOEXCEPT;
run_status_t run_after_func_at(run_timer_t** timer,
                               int64_t delay_ns,
                               void (*fn)(void* arg),
                               void* arg,
                               const char* file,
                               int line,
                               const char* function) RUN_NOEXCEPT;

#define run_after_func(timer, delay_ns, fn, arg) \
    run_after_func_at((timer), (delay_ns), (fn), (arg), __FILE__, __LINE__, __func__)

/// Stops and frees the timer. Does not wait for a running call of its function. No thread may wait
/// for the timer. NULL is allowed.
void run_timer_free(run_timer_t* timer) RUN_NOEXCEPT;

/// Receive a tick: *due_ns, unless NULL, is set to the time at which it was due (run_now_ns). They
/// wait for it. Cancellation points: RUN_CANCELLED, RUN_EXPIRED; with a timeout also
/// RUN_WOULD_BLOCK or RUN_TIMEOUT. RUN_INVALID if the timer calls a function.
run_status_t run_timer_wait(run_timer_t* timer, int64_t* due_ns) RUN_NOEXCEPT;
run_status_t run_timer_wait_for(run_timer_t* timer, int64_t* due_ns, int64_t timeout_ns) RUN_NOEXCEPT;

/// Stops it. *prevented, unless NULL, tells whether that prevented a tick or a call: false if it
/// was already received or made.
run_status_t run_timer_stop(run_timer_t* timer, bool* prevented) RUN_NOEXCEPT;

/// Stops and restarts it: fires in delay_ns from now, and then every period_ns, which must be 0 for
/// a timer that calls a function. RUN_EXHAUSTED, without effect, is possible if it was not running.
run_status_t run_timer_reset(run_timer_t* timer, int64_t delay_ns, int64_t period_ns, bool* prevented) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
