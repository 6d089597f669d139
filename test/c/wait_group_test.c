// wait_group_test.c: wait groups.
#include "check.h"

enum { pieces = 100 };

static void work(void* counter) {
    run_yield();
    add(counter, 1);
}

static void wait_returns_when_all_is_done(void) {
    for (int i = 0; i < 50; ++i) {
        run_wait_group_t* group;
        int done = 0;
        CHECK_OK(run_wait_group_make(&group));
        CHECK_OK(run_wait_group_wait(group));
        for (int k = 0; k < pieces; ++k) CHECK_OK(run_wait_group_go(group, work, &done));
        CHECK_OK(run_wait_group_wait(group));
        CHECK(load(&done) == pieces);
        run_wait_group_free(group);  // at once: the last run_wait_group_done() does not touch it after the wait
    }
}

struct shared {
    run_wait_group_t* group;
    int done;
};

static void* plain_work(void* argument) {
    struct shared* s = argument;
    add(&s->done, 1);
    CHECK_OK(run_wait_group_done(s->group));
    return NULL;
}

static void green_work(void* argument) { plain_work(argument); }

static void plain_and_green_count_together(void) {
    struct shared s = {NULL, 0};
    pthread_t threads[4];
    CHECK_OK(run_wait_group_make(&s.group));
    CHECK_OK(run_wait_group_add(s.group, 4));
    CHECK_OK(run_wait_group_add(s.group, pieces));
    for (int i = 0; i < 4; ++i) threads[i] = plain_thread(plain_work, &s);
    for (int i = 0; i < pieces; ++i) CHECK_OK(run_spawn(green_work, &s));
    CHECK_OK(run_wait_group_wait(s.group));
    CHECK(load(&s.done) == 4 + pieces);
    for (int i = 0; i < 4; ++i) join(threads[i]);
    run_wait_group_free(s.group);
}

static void a_wait_may_be_limited(void) {
    run_wait_group_t* group;
    CHECK_OK(run_wait_group_make(&group));
    CHECK_OK(run_wait_group_wait_for(group, 0));
    CHECK_OK(run_wait_group_add(group, 1));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_wait_group_wait_for(group, 0));
    CHECK_STATUS(RUN_TIMEOUT, run_wait_group_wait_for(group, 1000000));
    CHECK_OK(run_wait_group_done(group));
    CHECK_OK(run_wait_group_wait_for(group, RUN_FOREVER));
    run_wait_group_free(group);
}

static void null_is_refused(void) {
    run_wait_group_t* group;
    int done = 0;
    CHECK_STATUS(RUN_INVALID, run_wait_group_make(NULL));
    CHECK_STATUS(RUN_INVALID, run_wait_group_add(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_wait_group_done(NULL));
    CHECK_STATUS(RUN_INVALID, run_wait_group_wait(NULL));
    CHECK_STATUS(RUN_INVALID, run_wait_group_wait_for(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_wait_group_go(NULL, work, &done));
    run_wait_group_free(NULL);
    CHECK_OK(run_wait_group_make(&group));
    CHECK_STATUS(RUN_INVALID, run_wait_group_go(group, NULL, &done));
    CHECK_OK(run_wait_group_wait(group));  // the failed call did not count
    CHECK_OK((run_wait_group_go)(group, work, &done));
    CHECK_OK(run_wait_group_wait(group));
    CHECK(load(&done) == 1);
    run_wait_group_free(group);
}

int main(void) {
    RUN_EVERYWHERE(wait_returns_when_all_is_done);
    RUN_EVERYWHERE(plain_and_green_count_together);
    RUN_EVERYWHERE(a_wait_may_be_limited);
    RUN_EVERYWHERE(null_is_refused);
    return 0;
}
