// stop_test.c: run_scheduler_stop_for: waits end, functions return, and the rest is counted.
#include "check.h"

static const int64_t ms = 1000000;
static const int64_t patience_ns = 60 * 1000000000LL;

// What the green threads wait for. None of it ever happens.
struct things {
    run_chan_t* chan;
    run_event_t* event;
    run_semaphore_t* semaphore;
    run_mutex_t* mutex;
    run_cond_t* cond;
    int waiting;
    int cancelled;
};

static void make_things(struct things* t) {
    memset(t, 0, sizeof(*t));
    CHECK_OK(run_chan_make(&t->chan, sizeof(int), 0));
    CHECK_OK(run_event_make(&t->event));
    CHECK_OK(run_semaphore_make(&t->semaphore, 0));
    CHECK_OK(run_mutex_make(&t->mutex));
    CHECK_OK(run_cond_make(&t->cond));
}

static void free_things(struct things* t) {
    run_cond_free(t->cond);
    run_mutex_free(t->mutex);
    run_semaphore_free(t->semaphore);
    run_event_free(t->event);
    run_chan_release(t->chan);
}

static void expect_cancelled(struct things* t, run_status_t status) {
    CHECK_STATUS(RUN_CANCELLED, status);
    CHECK_STATUS(RUN_CANCELLED, run_sleep_ns(patience_ns));  // and so are waits that begin later
    add(&t->cancelled, 1);
}

static void receive(void* argument) {
    struct things* t = argument;
    int value;
    add(&t->waiting, 1);
    expect_cancelled(t, run_chan_recv(t->chan, &value));
}

static void wait_for_event(void* argument) {
    struct things* t = argument;
    add(&t->waiting, 1);
    expect_cancelled(t, run_event_wait(t->event));
}

static void acquire(void* argument) {
    struct things* t = argument;
    add(&t->waiting, 1);
    expect_cancelled(t, run_semaphore_acquire(t->semaphore));
}

static void sleep_long(void* argument) {
    struct things* t = argument;
    add(&t->waiting, 1);
    expect_cancelled(t, run_sleep_ns(patience_ns));
}

static void select_one(void* argument) {
    struct things* t = argument;
    int value;
    run_select_case_t cases[] = {run_recv_case(t->chan, &value)};
    add(&t->waiting, 1);
    expect_cancelled(t, run_select(cases, 1, RUN_FOREVER, NULL));
}

static void wait_for_condition(void* argument) {
    struct things* t = argument;
    CHECK_OK(run_mutex_lock(t->mutex));
    add(&t->waiting, 1);
    const run_status_t status = run_cond_wait(t->cond, t->mutex);
    CHECK_OK(run_mutex_unlock(t->mutex));
    expect_cancelled(t, status);
}

typedef void task(void*);

static task* const tasks[] = {receive, wait_for_event, acquire, sleep_long, select_one, wait_for_condition};

enum { task_count = sizeof(tasks) / sizeof(tasks[0]), rounds = 5 };

static void begin(unsigned procs) {
    run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
    opts.procs = procs;
    CHECK_OK(run_scheduler_init_with(&opts));
}

static void every_wait_ends_and_all_return(void) {
    for (unsigned procs = 1; procs <= 4; procs *= 2) {
        struct things t;
        make_things(&t);
        const pthread_t home = thread_now();
        begin(procs);
        for (int i = 0; i < rounds; ++i) {
            for (int k = 0; k < task_count; ++k) CHECK_OK(run_spawn(tasks[k], &t));
        }
        WAIT_UNTIL(load(&t.waiting) == rounds * task_count);
        run_stop_outcome_t done = RUN_STOP_OUTCOME_INIT;
        CHECK_OK(run_scheduler_stop_for(patience_ns, &done));
        CHECK(pthread_equal(thread_now(), home));
        CHECK(run_g_id() == 0);
        CHECK(load(&t.cancelled) == rounds * task_count);
        CHECK(done.drained == rounds * task_count);
        CHECK(done.cancelled >= 1);
        CHECK(done.abandoned == 0);
        CHECK(done.stragglers == 0);
        free_things(&t);
    }
}

// ---- Green threads that are left at the timeout.

static void lock_for_ever(void* argument) {
    struct things* t = argument;
    add(&t->waiting, 1);
    run_mutex_lock(t->mutex);
    CHECK_NEVER("the mutex was locked");
}

static void hold_a_mutex(void* argument) {
    struct things* t = argument;
    CHECK_OK(run_mutex_lock(t->mutex));
    add(&t->waiting, 1);
    run_mutex_lock(t->mutex);
    CHECK_NEVER("the mutex was locked twice");
}

static void what_waits_for_a_lock_is_abandoned(void) {
    for (unsigned procs = 1; procs <= 4; procs *= 2) {
        struct things t;
        make_things(&t);
        begin(procs);
        CHECK_OK(run_spawn(hold_a_mutex, &t));
        WAIT_UNTIL(load(&t.waiting) == 1);
        CHECK_OK(run_spawn(lock_for_ever, &t));
        CHECK_OK(run_spawn(receive, &t));
        WAIT_UNTIL(load(&t.waiting) == 3);
        run_stop_outcome_t done = RUN_STOP_OUTCOME_INIT;
        // The time limit passes although one of them returns at once.
        CHECK_OK(run_scheduler_stop_for(50 * ms, &done));
        CHECK(done.drained <= 1);
        CHECK(done.drained + done.abandoned == 3);
        CHECK(done.stragglers == 0);
        free_things(&t);
    }
}

static void without_time_it_does_not_wait(void) {
    struct things t;
    make_things(&t);
    begin(1);
    CHECK_OK(run_spawn(receive, &t));
    WAIT_UNTIL(load(&t.waiting) == 1);
    run_stop_outcome_t done = RUN_STOP_OUTCOME_INIT;
    CHECK_OK(run_scheduler_stop_for(0, &done));
    CHECK(done.drained == 0);
    CHECK(done.abandoned == 1);
    free_things(&t);
}

static void nothing_to_wait_for_is_soon_done(void) {
    begin(2);
    CHECK_OK(run_scheduler_stop_for(RUN_FOREVER, NULL));
    CHECK_OK(run_scheduler_init());
    CHECK_OK(run_scheduler_stop_for(RUN_FOREVER, NULL));
}

// ---- Permitted callers.

static void stop_is_not_for_me(void* done) {
    CHECK_STATUS(RUN_INVALID, run_scheduler_stop_for(1, NULL));
    store(done, 1);
}

static void only_the_main_green_thread_stops(void) {
    CHECK_STATUS(RUN_INVALID, run_scheduler_stop_for(1, NULL));
    begin(1);
    int done = 0;
    CHECK_OK(run_spawn(stop_is_not_for_me, &done));
    WAIT_UNTIL(load(&done) == 1);
    run_stop_outcome_t outcome = RUN_STOP_OUTCOME_INIT;
    outcome.size = 1;
    CHECK_STATUS(RUN_INVALID, run_scheduler_stop_for(1, &outcome));
    CHECK(run_g_id() == 1);
    // The struct of an older program ends after drained.
    outcome.size = offsetof(run_stop_outcome_t, cancelled);
    outcome.cancelled = 12345;
    CHECK_OK(run_scheduler_stop_for(patience_ns, &outcome));
    CHECK(outcome.cancelled == 12345);
    CHECK_STATUS(RUN_INVALID, run_scheduler_stop_for(1, NULL));
}

int main(void) {
    RUN_TEST(every_wait_ends_and_all_return);
    RUN_TEST(what_waits_for_a_lock_is_abandoned);
    RUN_TEST(without_time_it_does_not_wait);
    RUN_TEST(nothing_to_wait_for_is_soon_done);
    RUN_TEST(only_the_main_green_thread_stops);
    return 0;
}
