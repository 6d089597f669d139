// meeting_test.c: semaphores, latches, barriers, events.
#include "check.h"

// ---- Semaphore.

struct limited {
    run_semaphore_t* semaphore;
    int inside;
    int most;
    int left;
};

static void enter_and_leave(void* argument) {
    struct limited* l = argument;
    for (int i = 0; i < 200; ++i) {
        if (i % 2 == 0) {
            CHECK_OK(run_semaphore_acquire(l->semaphore));
        } else {
            CHECK_OK(run_semaphore_acquire_for(l->semaphore, RUN_FOREVER));
        }
        const int now = add(&l->inside, 1);
        CHECK(now <= 3);
        if (now > load(&l->most)) store(&l->most, now);
        run_yield();
        add(&l->inside, -1);
        CHECK_OK(run_semaphore_release(l->semaphore, 1));
    }
    add(&l->left, -1);
}

static void* enter_and_leave_plainly(void* argument) {
    enter_and_leave(argument);
    return NULL;
}

static void a_semaphore_counts(void) {
    struct limited l = {NULL, 0, 0, 8};
    CHECK_OK(run_semaphore_make(&l.semaphore, 3));
    for (int i = 0; i < 6; ++i) CHECK_OK(run_spawn(enter_and_leave, &l));
    const pthread_t a = plain_thread(enter_and_leave_plainly, &l);
    const pthread_t b = plain_thread(enter_and_leave_plainly, &l);
    WAIT_UNTIL(load(&l.left) == 0);
    join(a);
    join(b);
    for (int i = 0; i < 3; ++i) CHECK_OK(run_semaphore_try_acquire(l.semaphore));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_semaphore_try_acquire(l.semaphore));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_semaphore_acquire_for(l.semaphore, -1));
    CHECK_STATUS(RUN_TIMEOUT, run_semaphore_acquire_for(l.semaphore, 1000000));
    CHECK_OK(run_semaphore_release(l.semaphore, 2));
    CHECK_OK(run_semaphore_try_acquire(l.semaphore));
    CHECK_OK(run_semaphore_acquire(l.semaphore));
    run_semaphore_free(l.semaphore);
}

// ---- Latch.

struct gate {
    run_latch_t* latch;
    int passed;
};

static void pass(void* argument) {
    struct gate* g = argument;
    CHECK_OK(run_latch_wait(g->latch));
    add(&g->passed, 1);
}

static void pass_in_time(void* argument) {
    struct gate* g = argument;
    CHECK_OK(run_latch_wait_for(g->latch, RUN_FOREVER));
    add(&g->passed, 1);
}

static void* arrive_plainly(void* argument) {
    struct gate* g = argument;
    CHECK_OK(run_latch_arrive_and_wait(g->latch, 1));
    add(&g->passed, 1);
    return NULL;
}

static void a_latch_opens_once(void) {
    struct gate g = {NULL, 0};
    CHECK_OK(run_latch_make(&g.latch, 4));
    for (int i = 0; i < 5; ++i) CHECK_OK(run_spawn(i % 2 == 0 ? pass : pass_in_time, &g));
    const pthread_t plain = plain_thread(arrive_plainly, &g);
    CHECK_STATUS(RUN_WOULD_BLOCK, run_latch_wait_for(g.latch, 0));
    CHECK_STATUS(RUN_TIMEOUT, run_latch_wait_for(g.latch, 1000000));
    CHECK_OK(run_latch_count_down(g.latch, 2));
    CHECK(!run_latch_is_open(g.latch));
    CHECK(load(&g.passed) == 0);
    CHECK_OK(run_latch_arrive_and_wait(g.latch, 1));
    CHECK(run_latch_is_open(g.latch));
    CHECK_OK(run_latch_wait_for(g.latch, 0));
    join(plain);
    WAIT_UNTIL(load(&g.passed) == 6);
    run_latch_free(g.latch);
}

// ---- Barrier.

enum { parties = 5, phases = 200 };

struct phased {
    run_barrier_t* barrier;
    int arrived[phases];
    int completed;
    int left;
};

static void complete(void* argument) {
    struct phased* p = argument;
    CHECK(load(&p->arrived[p->completed]) == parties);
    ++p->completed;
}

static void go_through_phases(void* argument) {
    struct phased* p = argument;
    for (int i = 0; i < phases; ++i) {
        add(&p->arrived[i], 1);
        CHECK_OK(run_barrier_arrive_and_wait(p->barrier));
        CHECK(load(&p->arrived[i]) == parties && p->completed > i);
    }
    add(&p->left, -1);
}

static void* go_through_phases_plainly(void* argument) {
    go_through_phases(argument);
    return NULL;
}

static void nobody_passes_a_barrier_before_all_have_come(void) {
    static struct phased p;
    memset(&p, 0, sizeof(p));
    p.left = parties;
    CHECK_OK(run_barrier_make(&p.barrier, parties, complete, &p));
    for (int i = 0; i < parties - 2; ++i) CHECK_OK(run_spawn(go_through_phases, &p));
    const pthread_t plain = plain_thread(go_through_phases_plainly, &p);
    go_through_phases(&p);
    join(plain);
    WAIT_UNTIL(load(&p.left) == 0);
    CHECK(p.completed == phases);
    run_barrier_free(p.barrier);

    run_barrier_t* alone;
    CHECK_OK(run_barrier_make(&alone, 2, NULL, NULL));
    CHECK_OK(run_barrier_arrive_and_drop(alone));
    for (int i = 0; i < 3; ++i) CHECK_OK(run_barrier_arrive_and_wait(alone));
    run_barrier_free(alone);
}

struct split {
    run_barrier_t* barrier;
    int arrived;
    int done;
};

static void arrive_and_do_something_else(void* split) {
    struct split* s = split;
    for (int i = 1; i <= 50; ++i) {
        uint32_t phase;
        CHECK_OK(run_barrier_arrive(s->barrier, &phase));
        add(&s->arrived, 1);
        CHECK_OK(run_barrier_wait(s->barrier, phase));
        CHECK(load(&s->arrived) >= 3 * i - 2);  // the others count themselves a little later
    }
    add(&s->done, 1);
}

static void one_may_arrive_at_a_barrier_and_wait_later(void) {
    struct split s = {NULL, 0, 0};
    CHECK_OK(run_barrier_make(&s.barrier, 3, NULL, NULL));
    for (int i = 0; i < 3; ++i) CHECK_OK(run_spawn(arrive_and_do_something_else, &s));
    WAIT_UNTIL(load(&s.done) == 3);
    CHECK(load(&s.arrived) == 150);
    run_barrier_free(s.barrier);
}

// ---- Event.

struct signalled {
    run_event_t* event;
    int through;
};

static void await_event(void* argument) {
    struct signalled* s = argument;
    CHECK_OK(run_event_wait(s->event));
    add(&s->through, 1);
}

static void* await_event_plainly(void* argument) {
    struct signalled* s = argument;
    CHECK_OK(run_event_wait_for(s->event, RUN_FOREVER));
    add(&s->through, 1);
    return NULL;
}

static void an_event_lets_all_through_until_it_is_reset(void) {
    struct signalled s = {NULL, 0};
    CHECK_OK(run_event_make(&s.event));
    for (int i = 0; i < 5; ++i) CHECK_OK(run_spawn(await_event, &s));
    const pthread_t plain = plain_thread(await_event_plainly, &s);
    CHECK(!run_event_is_set(s.event));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_event_wait_for(s.event, 0));
    CHECK_STATUS(RUN_TIMEOUT, run_event_wait_for(s.event, 1000000));
    CHECK(load(&s.through) == 0);
    CHECK_OK(run_event_set(s.event));
    CHECK_OK(run_event_wait(s.event));
    CHECK_OK(run_event_wait_for(s.event, 0));
    WAIT_UNTIL(load(&s.through) == 6);
    join(plain);
    CHECK_OK(run_event_reset(s.event));
    CHECK(!run_event_is_set(s.event));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_event_wait_for(s.event, 0));
    run_event_free(s.event);
}

static void null_is_refused(void) {
    run_semaphore_t* semaphore;
    run_latch_t* latch;
    run_barrier_t* barrier;
    CHECK_STATUS(RUN_INVALID, run_semaphore_make(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_semaphore_make(&semaphore, UINT32_MAX));
    CHECK_STATUS(RUN_INVALID, run_semaphore_acquire(NULL));
    CHECK_STATUS(RUN_INVALID, run_semaphore_try_acquire(NULL));
    CHECK_STATUS(RUN_INVALID, run_semaphore_acquire_for(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_semaphore_release(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_latch_make(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_latch_make(&latch, UINT32_MAX));
    CHECK_STATUS(RUN_INVALID, run_latch_count_down(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_latch_wait(NULL));
    CHECK_STATUS(RUN_INVALID, run_latch_wait_for(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_latch_arrive_and_wait(NULL, 1));
    CHECK(!run_latch_is_open(NULL));
    CHECK_STATUS(RUN_INVALID, run_barrier_make(NULL, 1, NULL, NULL));
    CHECK_STATUS(RUN_INVALID, run_barrier_make(&barrier, UINT32_MAX, NULL, NULL));
    CHECK_STATUS(RUN_INVALID, run_barrier_arrive_and_wait(NULL));
    CHECK_STATUS(RUN_INVALID, run_barrier_arrive_and_drop(NULL));
    uint32_t phase;
    CHECK_STATUS(RUN_INVALID, run_barrier_arrive(NULL, &phase));
    CHECK_STATUS(RUN_INVALID, run_barrier_wait(NULL, 0));
    CHECK_STATUS(RUN_INVALID, run_event_make(NULL));
    CHECK_STATUS(RUN_INVALID, run_event_set(NULL));
    CHECK_STATUS(RUN_INVALID, run_event_reset(NULL));
    CHECK_STATUS(RUN_INVALID, run_event_wait(NULL));
    CHECK_STATUS(RUN_INVALID, run_event_wait_for(NULL, 1));
    CHECK(!run_event_is_set(NULL));
    run_semaphore_free(NULL);
    run_latch_free(NULL);
    run_barrier_free(NULL);
    run_event_free(NULL);
}

int main(void) {
    RUN_EVERYWHERE(a_semaphore_counts);
    RUN_EVERYWHERE(a_latch_opens_once);
    RUN_EVERYWHERE(nobody_passes_a_barrier_before_all_have_come);
    RUN_EVERYWHERE(one_may_arrive_at_a_barrier_and_wait_later);
    RUN_EVERYWHERE(an_event_lets_all_through_until_it_is_reset);
    RUN_TEST(null_is_refused);
    return 0;
}
