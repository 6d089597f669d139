/* sim_test.c: simulations, from C. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <weft/run.h>
#include <weft/run/sim.h>

#include "check.h"

static void nothing(void* unused) { (void)unused; }

static void fails(void* reason) { CHECK(run_sim_fail(reason)); }

static void count_runs(void* runs) { ++*(int*)runs; }

/* The schedule chooses the number. */
static void fails_for_seven(void* unused) {
    (void)unused;
    RUN_SIM_CHECK(run_sim_choose(10) != 7);
}

static void waits_for_ever(void* unused) {
    run_chan_t* none;
    (void)unused;
    run_chan_make(&none, 0, 0);
    run_chan_recv(none, NULL);
}

static void sleeps_a_year(void* unused) {
    (void)unused;
    run_sleep_ns(INT64_C(365) * 24 * 3600 * 1000000000);
}

typedef struct two_locks {
    run_mutex_t* a;
    run_mutex_t* b;
} two_locks_t;

static void lock_a_and_b(void* of) {
    two_locks_t* locks = of;
    run_mutex_lock(locks->a);
    run_mutex_lock(locks->b);
    run_mutex_unlock(locks->b);
    run_mutex_unlock(locks->a);
}

static void lock_b_and_a(void* of) {
    two_locks_t* locks = of;
    run_mutex_lock(locks->b);
    run_mutex_lock(locks->a);
    run_mutex_unlock(locks->a);
    run_mutex_unlock(locks->b);
}

static void lock_in_two_orders(void* unused) {
    two_locks_t locks;
    run_wait_group_t* both;
    (void)unused;
    run_mutex_make(&locks.a);
    run_mutex_make(&locks.b);
    run_wait_group_make(&both);
    run_wait_group_go(both, lock_a_and_b, &locks);
    run_wait_group_go(both, lock_b_and_a, &locks);
    run_wait_group_wait(both);
    run_wait_group_free(both);
    run_mutex_free(locks.a);
    run_mutex_free(locks.b);
}

static void test_passes(void) {
    run_sim_report_t* r;
    int runs = 0;
    run_sim_opts_t opts = RUN_SIM_OPTS_INIT;
    opts.schedules = 50;
    CHECK_OK(run_sim_explore(&r, &opts, count_runs, &runs));
    CHECK(runs == 50);
    CHECK(run_sim_verdict(r) == RUN_SIM_PASSED);
    CHECK(run_sim_schedules(r) == 50);
    CHECK(run_sim_steps(r) >= 50);
    CHECK(strcmp(run_sim_reason(r), "") == 0);
    CHECK(strcmp(run_sim_schedule(r), "") == 0);
    CHECK(strncmp(run_sim_text(r), "passed: 50 schedules", 20) == 0);
    run_sim_report_free(r);
    CHECK_OK(run_sim_explore(&r, &opts, sleeps_a_year, NULL));
    run_sim_report_free(r);
}

static void test_failures(void) {
    run_sim_report_t* r;
    run_sim_report_t* again;
    CHECK_STATUS(RUN_FAILED, run_sim_explore(&r, NULL, fails, (void*)"a reason"));
    CHECK(run_sim_verdict(r) == RUN_SIM_FAILED);
    CHECK(strcmp(run_sim_reason(r), "a reason") == 0);
    run_sim_report_free(r);

    CHECK_STATUS(RUN_FAILED, run_sim_explore(&r, NULL, fails_for_seven, NULL));
    CHECK(strstr(run_sim_reason(r), "run_sim_choose(10) != 7 (") != NULL);
    CHECK(strstr(run_sim_reason(r), "sim_test.c:") != NULL);
    CHECK_STATUS(RUN_FAILED, run_sim_replay(&again, run_sim_schedule(r), NULL, fails_for_seven, NULL));
    CHECK(strcmp(run_sim_reason(r), run_sim_reason(again)) == 0);
    run_sim_report_free(again);
    CHECK_OK(run_sim_replay(&again, "w1.", NULL, fails_for_seven, NULL));
    run_sim_report_free(again);
    run_sim_report_free(r);

    CHECK_STATUS(RUN_FAILED, run_sim_explore(&r, NULL, waits_for_ever, NULL));
    CHECK(run_sim_verdict(r) == RUN_SIM_DEADLOCK);
    run_sim_report_free(r);
}

static void test_options(void) {
    run_sim_report_t* r;
    run_sim_opts_t opts = RUN_SIM_OPTS_INIT;
    opts.strategy = RUN_SIM_EXHAUSTIVE;
    opts.schedules = 1;
    CHECK_STATUS(RUN_FAILED, run_sim_explore(&r, &opts, lock_in_two_orders, NULL));
    CHECK(run_sim_verdict(r) == RUN_SIM_LOCK_ORDER);
    run_sim_report_free(r);
    opts.ignores_lock_order = true;
    CHECK_OK(run_sim_explore(&r, &opts, lock_in_two_orders, NULL));
    run_sim_report_free(r);
    opts.schedules = 20;
    opts.strategy = RUN_SIM_RANDOM_WALK;
    CHECK_OK(run_sim_check_repeatable(&r, &opts, sleeps_a_year, NULL));
    run_sim_report_free(r);
    opts.size = sizeof(size_t); /* of a caller that knows no option */
    opts.strategy = (run_sim_strategy_t)77;
    CHECK_OK(run_sim_explore(&r, &opts, nothing, NULL));
    CHECK(run_sim_schedules(r) == 1000);
    run_sim_report_free(r);
}

static void test_invalid(void) {
    run_sim_report_t* r = NULL;
    run_sim_opts_t opts = RUN_SIM_OPTS_INIT;
    CHECK_STATUS(RUN_INVALID, run_sim_explore(NULL, NULL, nothing, NULL));
    CHECK_STATUS(RUN_INVALID, run_sim_explore(&r, NULL, NULL, NULL));
    r = (run_sim_report_t*)&opts; /* any address: it must be replaced */
    CHECK_STATUS(RUN_INVALID, run_sim_replay(&r, NULL, NULL, nothing, NULL));
    CHECK(r == NULL);
    CHECK_STATUS(RUN_INVALID, run_sim_replay(&r, "no schedule", NULL, nothing, NULL));
    opts.strategy = (run_sim_strategy_t)77;
    CHECK_STATUS(RUN_INVALID, run_sim_explore(&r, &opts, nothing, NULL));
    opts.strategy = RUN_SIM_PCT;
    opts.budget_ns = -1;
    CHECK_STATUS(RUN_INVALID, run_sim_explore(&r, &opts, nothing, NULL));
    opts.budget_ns = 0;
    opts.size = 1;
    CHECK_STATUS(RUN_INVALID, run_sim_explore(&r, &opts, nothing, NULL));
    CHECK(r == NULL);
    CHECK(run_sim_verdict(NULL) == RUN_SIM_PASSED);
    CHECK(strcmp(run_sim_text(NULL), "") == 0);
    run_sim_report_free(NULL);
    CHECK(!run_sim_fail("outside of a simulation"));
    CHECK(run_sim_choose(0) == 0);
    CHECK(run_sim_choose(3) < 3);
}

int main(void) {
    test_passes();
    test_failures();
    test_options();
    test_invalid();
    return 0;
}
