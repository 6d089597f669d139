// time_test.c: sleeping and timers.
#include "check.h"

static const int64_t ms = 1000000;

static void sleeping_takes_as_long_as_asked(void) {
    const int64_t begun = run_now_ns();
    CHECK_OK(run_sleep_ns(2 * ms));
    CHECK(run_now_ns() - begun >= 2 * ms);
    CHECK_OK(run_sleep_ns(0));
    CHECK_OK(run_sleep_ns(-ms));
    const int64_t then = run_now_ns() + ms;
    CHECK_OK(run_sleep_until_ns(then));
    CHECK(run_now_ns() >= then);
    CHECK_OK(run_sleep_until_ns(0));
}

static void sleep_a_little(void* left) {
    CHECK_OK(run_sleep_ns(ms));
    add(left, -1);
}

static void many_sleep_at_once(void) {
    int left = 500;
    for (int i = 0; i < 500; ++i) CHECK_OK(run_spawn(sleep_a_little, &left));
    while (load(&left) != 0) CHECK_OK(run_sleep_ns(ms));
}

// ---- Timers.

static run_timer_t* make(int64_t delay_ns, int64_t period_ns) {
    run_timer_t* timer;
    CHECK_OK(run_timer_make(&timer, delay_ns, period_ns));
    return timer;
}

static void a_timer_ticks_once(void) {
    const int64_t begun = run_now_ns();
    run_timer_t* timer = make(2 * ms, 0);
    int64_t due = 0;
    bool prevented = true;
    CHECK_OK(run_timer_wait(timer, &due));
    CHECK(due >= begun + 2 * ms && due <= run_now_ns());
    CHECK_STATUS(RUN_TIMEOUT, run_timer_wait_for(timer, NULL, ms));
    CHECK_OK(run_timer_stop(timer, &prevented));
    CHECK(!prevented);
    CHECK_OK(run_timer_reset(timer, -1, 0, &prevented));
    CHECK(!prevented);
    CHECK_OK(run_timer_wait_for(timer, NULL, RUN_FOREVER));
    run_timer_free(timer);
}

static void one_that_is_stopped_does_not_tick(void) {
    bool prevented = false;
    run_timer_t* timer = make(3600 * 1000 * ms, 0);
    CHECK_STATUS(RUN_WOULD_BLOCK, run_timer_wait_for(timer, NULL, 0));
    CHECK_OK(run_timer_stop(timer, &prevented));
    CHECK(prevented);
    CHECK_OK(run_timer_stop(timer, NULL));
    CHECK_STATUS(RUN_TIMEOUT, run_timer_wait_for(timer, NULL, ms));
    CHECK_OK(run_timer_reset(timer, RUN_FOREVER, 0, &prevented));
    CHECK(!prevented);
    CHECK_OK(run_timer_reset(timer, 0, 0, &prevented));
    CHECK(prevented);
    CHECK_OK(run_timer_wait(timer, NULL));
    run_timer_free(timer);
    run_timer_free(make(0, 0));  // whether or not it has fired
    run_timer_free(NULL);
}

static void a_ticker_ticks_again_and_again(void) {
    run_timer_t* timer = make(ms, ms);
    int64_t before = 0;
    for (int i = 0; i < 10; ++i) {
        int64_t due;
        CHECK_OK(run_timer_wait(timer, &due));
        CHECK(due > before && (i == 0 || (due - before) % ms == 0));
        before = due;
    }
    CHECK_OK(run_timer_stop(timer, NULL));
    CHECK_STATUS(RUN_TIMEOUT, run_timer_wait_for(timer, NULL, 3 * ms));
    run_timer_free(timer);
}

static void a_timer_is_a_case_of_a_select(void) {
    run_chan_t* never;
    CHECK_OK(run_chan_make(&never, 1, 0));
    run_timer_t* soon = make(ms, 0);
    run_timer_t* late = make(3600 * 1000 * ms, 0);
    int64_t due[2] = {0, 0};
    size_t chosen;
    run_select_case_t cases[] = {run_recv_case(never, NULL), run_timer_case(late, &due[0]),
                                 run_timer_case(soon, &due[1]), run_timer_case(NULL, NULL)};
    CHECK_OK(run_select(cases, 4, RUN_FOREVER, &chosen));
    CHECK(chosen == 2 && cases[2].status == RUN_OK && due[1] != 0 && due[0] == 0);
    CHECK_OK(run_timer_reset(late, 0, 0, NULL));
    cases[1].to = NULL;
    CHECK_OK(run_select(cases, 4, RUN_FOREVER, &chosen));
    CHECK(chosen == 1);
    CHECK_STATUS(RUN_WOULD_BLOCK, run_select(cases, 4, 0, &chosen));
    run_timer_free(soon);
    run_timer_free(late);
    run_chan_release(never);
}

static void count(void* counter) { add(counter, 1); }

static void a_function_is_called_later(void) {
    int calls = 0;
    bool prevented;
    run_timer_t* timer;
    run_timer_t* never;
    CHECK_OK(run_after_func(&timer, ms, count, &calls));
    CHECK_OK(run_after_func(&never, 3600 * 1000 * ms, count, &calls));
    WAIT_UNTIL(load(&calls) == 1);
    CHECK_OK(run_timer_stop(timer, &prevented));
    CHECK(!prevented);
    CHECK_OK(run_timer_reset(timer, 0, 0, &prevented));
    CHECK(!prevented);
    WAIT_UNTIL(load(&calls) == 2);
    CHECK_STATUS(RUN_INVALID, run_timer_reset(timer, 0, ms, NULL));
    CHECK_STATUS(RUN_INVALID, run_timer_wait(timer, NULL));
    run_select_case_t one = run_timer_case(timer, NULL);
    CHECK_STATUS(RUN_INVALID, run_select(&one, 1, 0, NULL));
    run_timer_free(timer);
    run_timer_free(never);
    CHECK_OK((run_after_func)(&timer, 0, count, &calls));
    WAIT_UNTIL(load(&calls) == 3);
    run_timer_free(timer);
}

static void null_is_refused(void) {
    run_timer_t* timer = (run_timer_t*)&timer;
    CHECK_STATUS(RUN_INVALID, run_timer_make(NULL, 1, 0));
    CHECK_STATUS(RUN_INVALID, run_timer_make(&timer, 1, -1));
    CHECK_STATUS(RUN_INVALID, run_after_func(NULL, 1, count, NULL));
    CHECK_STATUS(RUN_INVALID, run_after_func(&timer, 1, NULL, NULL));
    CHECK(timer == NULL);
    CHECK_STATUS(RUN_INVALID, run_timer_wait(NULL, NULL));
    CHECK_STATUS(RUN_INVALID, run_timer_wait_for(NULL, NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_timer_stop(NULL, NULL));
    CHECK_STATUS(RUN_INVALID, run_timer_reset(NULL, 1, 0, NULL));
}

int main(void) {
    RUN_EVERYWHERE(sleeping_takes_as_long_as_asked);
    RUN_EVERYWHERE(many_sleep_at_once);
    RUN_EVERYWHERE(a_timer_ticks_once);
    RUN_EVERYWHERE(one_that_is_stopped_does_not_tick);
    RUN_EVERYWHERE(a_ticker_ticks_again_and_again);
    RUN_EVERYWHERE(a_timer_is_a_case_of_a_select);
    RUN_EVERYWHERE(a_function_is_called_later);
    RUN_EVERYWHERE(null_is_refused);
    return 0;
}
