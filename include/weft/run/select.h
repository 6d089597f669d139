// select.h: waits until one of several things can happen, and does it.
//
//     run_select_case_t cases[] = {run_recv_case(requests, &r), run_send_case(answers, &a), run_recv_case(quit, NULL)};
//     size_t chosen;
//     switch (run_select(cases, 3, 100 * 1000000, &chosen)) { … }
//
// Exactly one case happens, or none. If several can, one is chosen at random, each with the same probability. A case on a closed channel can
// happen, with RUN_CLOSED for its status; one whose object is NULL never can.
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
    RUN_SELECT_RECV = 0,      // receives from a channel
    RUN_SELECT_SEND = 1,      // sends to a channel
    RUN_SELECT_FUTURE = 2,    // a future's result is there
    RUN_SELECT_EVENT = 3,     // an event is set
    RUN_SELECT_TIMER = 4,     // a timer ticks
    RUN_SELECT_READABLE = 5,  // a descriptor can be read
    RUN_SELECT_WRITABLE = 6,  // … written
} run_select_op_t;

// One case. Make it with one of the functions below.
typedef struct run_select_case {
    run_select_op_t op;
    run_status_t
        status;    // set if it happened: RUN_OK, or RUN_CLOSED; of a descriptor, also RUN_SYSTEM: it is none any more
    void* object;  // the channel, future, event, timer or watch; NULL: it never happens
    void* to;      // where the element goes, or the time of the tick (int64_t*); NULL: nowhere
    const void* from;  // send: where it is
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

// Not one that calls a function: RUN_INVALID.
static inline run_select_case_t run_timer_case(run_timer_t* timer, int64_t* due_ns) {
    return run_make_case(RUN_SELECT_TIMER, timer, due_ns, NULL);
}

static inline run_select_case_t run_readable_case(run_watch_t* watch) {
    return run_make_case(RUN_SELECT_READABLE, watch, NULL, NULL);
}

static inline run_select_case_t run_writable_case(run_watch_t* watch) {
    return run_make_case(RUN_SELECT_WRITABLE, watch, NULL, NULL);
}

// Does one of the count cases, waiting for timeout_ns at most until one can happen. RUN_OK: the case *chosen happened, and its status
// says how. Otherwise none did and *chosen is count: RUN_WOULD_BLOCK (timeout_ns is zero or less), RUN_TIMEOUT, RUN_CANCELLED,
// RUN_EXPIRED; RUN_INVALID, also for an unknown op or a send without a value; RUN_EXHAUSTED, possible for more than 16 cases.
// chosen may be NULL. With no case that can ever happen it waits for the time alone. Any thread. A cancellation point where it
// waits. O(count).
run_status_t run_select(run_select_case_t* cases, size_t count, int64_t timeout_ns, size_t* chosen) RUN_NOEXCEPT;

// The same, but if several cases can happen the first of them does.
run_status_t run_select_first(run_select_case_t* cases, size_t count, int64_t timeout_ns, size_t* chosen) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
