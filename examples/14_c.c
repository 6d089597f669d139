// 14_c.c: the C interface: green threads, channels, select, and a scope that is cancelled.
//
// run_scheduler_init turns main into a green thread on its existing stack; run_scheduler_stop turns
// it back into a plain thread. Functions that can fail return a run_status_t. C code is not
// unwound: in a cancelled function, a wait returns RUN_CANCELLED, and the function must return.
//
// Prints:
//     the sum of the squares below 100 is 328350
//     nothing came within 5 ms: the timeout passed first
//     the worker was told: cancelled
#include <stdio.h>

#include <weft/run.h>

enum { workers = 4, numbers = 100 };

static run_chan_t* jobs;
static run_chan_t* results;

static void square(void* unused) {
    int n;
    (void)unused;
    while (run_chan_recv(jobs, &n) == RUN_OK) {
        const int squared = n * n;
        run_chan_send(results, &squared);
    }
}

static void feed(void* unused) {
    (void)unused;
    for (int n = 0; n < numbers; ++n) run_chan_send(jobs, &n);
    run_chan_close(jobs);
}

static int sum_of_squares(void) {
    int sum = 0;
    run_wait_group_t* all;
    run_chan_make(&jobs, sizeof(int), 8);
    run_chan_make(&results, sizeof(int), 8);
    run_wait_group_make(&all);
    for (int i = 0; i < workers; ++i) run_wait_group_go(all, square, NULL);
    run_wait_group_go(all, feed, NULL);
    for (int i = 0; i < numbers; ++i) {
        int squared;
        run_chan_recv(results, &squared);
        sum += squared;
    }
    run_wait_group_wait(all);
    run_wait_group_free(all);
    run_chan_release(results);
    run_chan_release(jobs);
    return sum;
}

static int wait_for_ever(void* nothing) {
    const run_status_t status = run_chan_recv(nothing, NULL);
    printf("the worker was told: %s\n", run_status_text(status));
    return 0;
}

int main(void) {
    if (run_scheduler_init() != RUN_OK) return 1;
    printf("the sum of the squares below %d is %d\n", numbers, sum_of_squares());

    run_chan_t* nothing;
    run_chan_make(&nothing, 0, 0);
    run_select_case_t cases[] = {run_recv_case(nothing, NULL)};
    printf("nothing came within 5 ms: %s\n", run_status_text(run_select(cases, 1, 5 * 1000000, NULL)));

    run_scope_t* scope;
    run_scope_begin(&scope);
    run_scope_go(scope, wait_for_ever, nothing);
    run_yield();
    run_scope_cancel(scope);
    run_scope_join(scope, NULL);
    run_chan_release(nothing);
    return run_scheduler_stop() == RUN_OK ? 0 : 1;
}
