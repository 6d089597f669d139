// future_test.c: futures.
#include "check.h"

static const int64_t ms = 1000000;

static void* twice(void* number) {
    run_yield();
    *(long*)number *= 2;
    return number;
}

static void the_result_is_what_the_function_returned(void) {
    for (int i = 0; i < 200; ++i) {
        run_future_t* future;
        long number = 21;
        void* result = NULL;
        CHECK_OK(run_async(&future, twice, &number));
        CHECK_OK(run_future_wait(future, &result));
        CHECK(result == &number && number == 42);
        CHECK(run_future_is_ready(future));
        result = NULL;
        CHECK_OK(run_future_wait(future, &result));  // any number of times
        CHECK_OK(run_future_wait_for(future, NULL, 0));
        CHECK(result == &number);
        run_future_release(future);
    }
}

struct shared {
    run_future_t* future;
    int seen;
};

static void* wait_plainly(void* argument) {
    struct shared* s = argument;
    void* result = NULL;
    CHECK_OK(run_future_wait(s->future, &result));
    CHECK(result == s);
    run_future_release(s->future);
    add(&s->seen, 1);
    return NULL;
}

static void wait_greenly(void* argument) { wait_plainly(argument); }

static void* wait_to_be_told(void* event) {
    CHECK_OK(run_event_wait(*(run_event_t**)event));
    return NULL;
}

struct told {
    run_event_t* event;
    struct shared* result;
};

static void* wait_and_return(void* argument) {
    struct told* t = argument;
    wait_to_be_told(&t->event);
    return t->result;
}

static void many_may_wait(void) {
    struct shared s = {NULL, 0};
    struct told t = {NULL, &s};
    CHECK_OK(run_event_make(&t.event));
    CHECK_OK(run_async(&s.future, wait_and_return, &t));
    run_future_t* mine = s.future;
    for (int i = 0; i < 5; ++i) {
        CHECK(run_future_retain(mine) == mine);
        CHECK_OK(run_spawn(wait_greenly, &s));
    }
    run_future_retain(mine);
    const pthread_t plain = plain_thread(wait_plainly, &s);
    CHECK(!run_future_is_ready(mine));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_future_wait_for(mine, NULL, 0));
    CHECK_STATUS(RUN_TIMEOUT, run_future_wait_for(mine, NULL, ms));
    CHECK_OK(run_event_set(t.event));
    WAIT_UNTIL(load(&s.seen) == 6);
    join(plain);
    run_future_release(mine);
    run_event_free(t.event);
}

static void* until_cancelled(void* chan) {
    CHECK_STATUS(RUN_CANCELLED, run_chan_recv(chan, NULL));
    CHECK_STATUS(RUN_CANCELLED, run_cancel_status());
    return chan;
}

static void one_may_be_cancelled(void) {
    run_chan_t* never;
    run_future_t* future;
    void* result = NULL;
    CHECK_OK(run_chan_make(&never, 1, 0));
    for (int i = 0; i < 50; ++i) {
        CHECK_OK(run_async(&future, until_cancelled, never));
        if (i % 2 == 0) run_yield();
        CHECK_OK(run_future_cancel(future));
        CHECK_OK(run_future_wait(future, &result));
        CHECK(result == never);
        CHECK_OK(run_future_cancel(future));  // too late, and harmless
        run_future_release(future);
    }
    run_chan_release(never);
}

static void* set_result(void* number) {
    run_yield();
    store(number, 1);
    return NULL;
}

static void dropping_one_changes_nothing(void) {
    run_future_t* future;
    int number = 0;
    CHECK_OK(run_async(&future, set_result, &number));
    run_future_release(future);
    WAIT_UNTIL(load(&number) == 1);
}

static void a_future_is_a_case_of_a_select(void) {
    struct shared s = {NULL, 0};
    struct told t = {NULL, &s};
    run_event_t* other;
    size_t chosen;
    CHECK_OK(run_event_make(&t.event));
    CHECK_OK(run_event_make(&other));
    CHECK_OK(run_async(&s.future, wait_and_return, &t));
    run_select_case_t cases[] = {run_future_case(s.future), run_event_case(other), run_future_case(NULL),
                                 run_event_case(NULL)};
    CHECK_STATUS(RUN_WOULD_BLOCK, run_select(cases, 4, 0, &chosen));
    CHECK_STATUS(RUN_TIMEOUT, run_select(cases, 4, ms, &chosen));
    CHECK_OK(run_event_set(t.event));
    CHECK_OK(run_select(cases, 4, RUN_FOREVER, &chosen));
    CHECK(chosen == 0 && cases[0].status == RUN_OK);
    CHECK_OK(run_event_set(other));
    CHECK_OK(run_select(cases + 1, 3, RUN_FOREVER, &chosen));
    CHECK(chosen == 0 && cases[1].status == RUN_OK);
    run_future_release(s.future);
    run_event_free(other);
    run_event_free(t.event);
}

static void null_is_refused(void) {
    run_future_t* future = (run_future_t*)&future;
    CHECK_STATUS(RUN_INVALID, run_async(NULL, twice, NULL));
    CHECK_STATUS(RUN_INVALID, run_async(&future, NULL, NULL));
    CHECK(future == NULL);
    CHECK_STATUS(RUN_INVALID, run_future_wait(NULL, NULL));
    CHECK_STATUS(RUN_INVALID, run_future_wait_for(NULL, NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_future_cancel(NULL));
    CHECK(!run_future_is_ready(NULL) && run_future_retain(NULL) == NULL);
    run_future_release(NULL);
    long number = 1;
    CHECK_OK((run_async)(&future, twice, &number));
    CHECK_OK(run_future_wait(future, NULL));
    CHECK(number == 2);
    run_future_release(future);
}

int main(void) {
    RUN_EVERYWHERE(the_result_is_what_the_function_returned);
    RUN_EVERYWHERE(many_may_wait);
    RUN_EVERYWHERE(one_may_be_cancelled);
    RUN_EVERYWHERE(dropping_one_changes_nothing);
    RUN_EVERYWHERE(a_future_is_a_case_of_a_select);
    RUN_EVERYWHERE(null_is_refused);
    return 0;
}
