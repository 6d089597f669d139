// select.h: waits until one of several operations can proceed, and performs it.
//
//     run_select_case_t cases[] = {run_recv_case(requests, &r), run_send_case(answers, &a), run_recv_case(quit, NULL)};
//     size_t chosen;
//     switch (run_select(cases, 3, 100 * 1000000, &chosen)) { … }
//
// At most one case is performed. If several are ready, one is chosen at random with equal
// probability. A case on a closed channel is ready, with status RUN_CLOSED. A case whose object is
// NULL is never ready.
//
// See: docs/c_api.md, docs/select.md
#pragma once

#include <weft/run/chan.h>
#include <weft/run/event.h>
#include <weft/run/future.h>
#include <weft/run/net.h>
#include <weft/run/time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum run_select_op RUN_INT_ENUM {
    RUN_SELECT_RECV = 0,      ///< receives from a channel
    RUN_SELECT_SEND = 1,      ///< sends to a channel
    RUN_SELECT_FUTURE = 2,    ///< a future's result is available
    RUN_SELECT_EVENT = 3,     ///< an event is set
    RUN_SELECT_TIMER = 4,     ///< a timer ticks
    RUN_SELECT_READABLE = 5,  ///< a descriptor can be read
    RUN_SELECT_WRITABLE = 6,  ///< … written
} run_select_op_t;

/// One case. Make it with one of the functions below.
typedef struct run_select_case {
    run_select_op_t op;
    run_status_t
        status;    ///< set for the chosen case: RUN_OK or RUN_CLOSED; for a descriptor also RUN_SYSTEM: no longer valid
    void* object;  ///< the channel, future, event, timer or watch; NULL: never ready
    void* to;      ///< receives the element, or the time of the tick (int64_t*); NULL: dropped
    const void* from;  ///< send: the element
} run_select_case_t;

static inline run_select_case_t run_make_case(run_select_op_t op, void* object, void* to, const void* from) {
    run_select_case_t c;
    c.op = op;
    c.status = RUN_OK;
    c.object = object;
    c.to = to;
    c.from = from;
    return c;
}

static inline run_select_case_t run_recv_case(run_chan_t* chan, void* value) {
    return run_make_case(RUN_SELECT_RECV, chan, value, NULL);
}

static inline run_select_case_t run_send_case(run_chan_t* chan, const void* value) {
    return run_make_case(RUN_SELECT_SEND, chan, NULL, value);
}

static inline run_select_case_t run_future_case(run_future_t* future) {
    return run_make_case(RUN_SELECT_FUTURE, future, NULL, NULL);
}

static inline run_select_case_t run_event_case(run_event_t* event) {
    return run_make_case(RUN_SELECT_EVENT, event, NULL, NULL);
}

/// A timer that calls a function: RUN_INVALID.
static inline run_select_case_t run_timer_case(run_timer_t* timer, int64_t* due_ns) {
    return run_make_case(RUN_SELECT_TIMER, timer, due_ns, NULL);
}

static inline run_select_case_t run_readable_case(run_watch_t* watch) {
    return run_make_case(RUN_SELECT_READABLE, watch, NULL, NULL);
}

static inline run_select_case_t run_writable_case(run_watch_t* watch) {
    return run_make_case(RUN_SELECT_WRITABLE, watch, NULL, NULL);
}

/// Performs one of the count cases; waits for at most timeout_ns until one is ready. RUN_OK: the
/// case *chosen was performed, and its status tells the result. Otherwise none was, and *chosen is
/// count: RUN_WOULD_BLOCK (timeout_ns is zero or less), RUN_TIMEOUT, RUN_CANCELLED, RUN_EXPIRED;
/// RUN_INVALID, also for an unknown op or a send without a value; RUN_EXHAUSTED, possible with more
/// than 16 cases. chosen may be NULL. If no case can ever be ready, it only waits for the timeout.
/// Any thread. A cancellation point where it waits. O(count).
run_status_t run_select(run_select_case_t* cases, size_t count, int64_t timeout_ns, size_t* chosen) RUN_NOEXCEPT;

/// As run_select, but if several cases are ready the first of them is performed.
run_status_t run_select_first(run_select_case_t* cases, size_t count, int64_t timeout_ns, size_t* chosen) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
