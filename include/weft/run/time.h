// time.h: sleeping and timers.
//
// See: docs/c_api.md, docs/timers.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// Waits for ns nanoseconds at least; RUN_FOREVER: for ever. At once if ns is zero or less. Any thread. A cancellation point:
// RUN_CANCELLED, RUN_EXPIRED.
run_status_t run_sleep_ns(int64_t ns) RUN_NOEXCEPT;

// The same until run_now_ns() is deadline_ns.
run_status_t run_sleep_until_ns(int64_t deadline_ns) RUN_NOEXCEPT;

// ---- Timers: a tick later, once or again and again; or a function that is called later, on a green thread of its own.
//
// A tick waits until it is received, stopped, or reset: after stop or reset has returned, no tick from before is received any more. Ticks
// that nobody received are not counted: while one waits, the next ones are skipped. A timer belongs to the scheduler of whoever
// starts it, or the default one, and is stopped with it. Nothing is ever early. Delays of zero or less end at once.
//
// Any thread. timer NULL: RUN_INVALID. A timer can be a case of run_select.
typedef struct run_timer run_timer_t;

// Makes a timer that ticks in delay_ns, and then every period_ns, unless that is 0. RUN_INVALID if period_ns is negative;
// RUN_EXHAUSTED.
run_status_t run_timer_make(run_timer_t** timer, int64_t delay_ns, int64_t period_ns) RUN_NOEXCEPT;

// Makes a timer that calls fn(arg) in delay_ns, for which everything is taken now. RUN_INVALID if fn is NULL; RUN_EXHAUSTED. Also a macro,
// that calls the other one. fn may not call run_g_exit.
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

// Stops it, and gives it back. A call of its function that goes on is not waited for. Nobody may wait for it. NULL is allowed.
void run_timer_free(run_timer_t* timer) RUN_NOEXCEPT;

// Receives a tick: *due_ns, which may be NULL, is when it was due, as run_now_ns tells time. Waits for it; a cancellation point:
// RUN_CANCELLED, RUN_EXPIRED, the other one also RUN_WOULD_BLOCK or RUN_TIMEOUT. RUN_INVALID if it calls a function.
run_status_t run_timer_wait(run_timer_t* timer, int64_t* due_ns) RUN_NOEXCEPT;
run_status_t run_timer_wait_for(run_timer_t* timer, int64_t* due_ns, int64_t timeout_ns) RUN_NOEXCEPT;

// Stops it. *prevented, unless that is NULL, tells whether a tick or a call was prevented: not, if it was received or made already.
run_status_t run_timer_stop(run_timer_t* timer, bool* prevented) RUN_NOEXCEPT;

// Stops it and lets it begin again: in delay_ns from now, and then every period_ns, which is 0 for one that calls a function.
// RUN_EXHAUSTED is possible if it was not running, and then nothing has happened.
run_status_t run_timer_reset(run_timer_t* timer, int64_t delay_ns, int64_t period_ns, bool* prevented) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
