// straggler_test.c: a green thread that never ends, when the scheduler stops. Its OS thread is left
// behind. Leak checkers report that, so this test is a program of its own.
#include "check.h"

static int straggler_may_end;

static void straggle(void* begun) {
    store(begun, 1);
    while (load(&straggler_may_end) == 0) {}
}

static void a_thread_that_never_returns_is_left_behind(void) {
    static int begun;
    run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
    opts.procs = 2;
    CHECK_OK(run_scheduler_init_with(&opts));
    const pthread_t home = thread_now();
    CHECK_OK(run_spawn(straggle, &begun));
    // The main green thread only waits here, so that another OS thread takes the straggler.
    while (load(&begun) == 0) {}
    CHECK_STATUS(RUN_TIMEOUT, run_scheduler_stop());
    CHECK(pthread_equal(thread_now(), home));
    CHECK_OK(run_scheduler_init());
    CHECK_OK(run_scheduler_stop());
    store(&straggler_may_end, 1);
}

int main(void) {
    RUN_TEST(a_thread_that_never_returns_is_left_behind);
    return 0;
}
