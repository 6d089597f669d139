// scope_test.c: scopes, deadlines, cancellation.
#include "check.h"

static const int64_t ms = 1000000;

static int work(void* counter) {
    run_yield();
    add(counter, 1);
    return 0;
}

static void a_scope_waits_for_its_tasks(void) {
    for (int i = 0; i < 20; ++i) {
        run_scope_t* scope;
        int done = 0;
        int failure = 77;
        CHECK_OK(run_scope_begin(&scope));
        for (int k = 0; k < 50; ++k) CHECK_OK(run_scope_go(scope, work, &done));
        CHECK(!run_scope_is_cancelled(scope));
        CHECK_OK(run_scope_join(scope, &failure));
        CHECK(load(&done) == 50 && failure == 77);
    }
}

// ---- Failing.

static int interrupted;

static int wait_for_ever(void* chan) {
    CHECK_STATUS(RUN_CANCELLED, run_chan_recv(chan, NULL));
    CHECK_STATUS(RUN_CANCELLED, run_chan_recv(chan, NULL));  // and again
    CHECK_STATUS(RUN_CANCELLED, run_cancel_status());
    add(&interrupted, 1);
    return 0;
}

static int fail(void* code) {
    run_yield();
    return *(int*)code;
}

static void the_first_failure_cancels_the_others(void) {
    run_chan_t* never;
    CHECK_OK(run_chan_make(&never, 1, 0));
    for (int i = 0; i < 20; ++i) {
        run_scope_t* scope;
        int code = 42;
        int failure = 0;
        store(&interrupted, 0);
        CHECK_OK(run_scope_begin(&scope));
        for (int k = 0; k < 5; ++k) CHECK_OK(run_scope_go(scope, wait_for_ever, never));
        CHECK_OK(run_scope_go(scope, fail, &code));
        CHECK_STATUS(RUN_CANCELLED, run_chan_recv(never, NULL));  // the thread that opened the scope, too
        CHECK(run_scope_is_cancelled(scope));
        CHECK_STATUS(RUN_FAILED, run_scope_join(scope, &failure));
        CHECK(failure == 42 && load(&interrupted) == 5);
        CHECK_OK(run_cancel_status());
        CHECK_STATUS(RUN_TIMEOUT, run_chan_recv_for(never, NULL, ms));
    }
    run_chan_release(never);
}

static void* cancel_it(void* scope) {
    CHECK_OK(run_scope_cancel(scope));
    return NULL;
}

static void a_scope_may_be_cancelled_by_anybody(void) {
    run_chan_t* never;
    run_scope_t* scope;
    CHECK_OK(run_chan_make(&never, 1, 0));
    store(&interrupted, 0);
    CHECK_OK(run_scope_begin(&scope));
    CHECK_OK(run_scope_go(scope, wait_for_ever, never));
    const pthread_t other = plain_thread(cancel_it, scope);
    CHECK_STATUS(RUN_CANCELLED, run_chan_recv(never, NULL));
    join(other);
    CHECK_STATUS(RUN_CANCELLED, run_scope_join(scope, NULL));
    CHECK(load(&interrupted) == 1);
    run_chan_release(never);
}

// ---- Every cancellation point reports it.

struct things {
    run_chan_t* chan;
    run_mutex_t* mutex;
    run_recursive_mutex_t* recursive;
    run_rwmutex_t* rwmutex;
    run_cond_t* cond;
    run_mutex_t* free_mutex;
    run_semaphore_t* semaphore;
    run_latch_t* latch;
    run_event_t* event;
    run_event_t* end;
    run_wait_group_t* group;
    run_future_t* future;
};

static void* outlast(void* event) {
    // It is outside of the scope of the green thread that started it.
    CHECK_OK(run_event_wait(event));
    return NULL;
}

static int hold_a_recursive_mutex(void* argument) {
    struct things* t = argument;
    CHECK_OK(run_recursive_mutex_lock(t->recursive));
    CHECK_OK(run_event_set(t->event));
    return 0;
}

static run_status_t by(const struct things* t, int which, int64_t timeout_ns) {
    run_select_case_t one = run_recv_case(t->chan, NULL);
    const char x = 'x';
    switch (which) {
        case 0:
            return timeout_ns == RUN_FOREVER ? run_chan_recv(t->chan, NULL)
                                             : run_chan_recv_for(t->chan, NULL, timeout_ns);
        case 1:
            return timeout_ns == RUN_FOREVER ? run_chan_send(t->chan, &x) : run_chan_send_for(t->chan, &x, timeout_ns);
        case 2:
            return run_select(&one, 1, timeout_ns, NULL);
        case 3:
            return run_mutex_lock_for(t->mutex, timeout_ns);
        case 4:
            return run_rwmutex_lock_for(t->rwmutex, timeout_ns);
        case 5:
            return run_rwmutex_rlock_for(t->rwmutex, timeout_ns);
        case 6:
            return run_cond_wait_for(t->cond, t->free_mutex, timeout_ns);
        case 7:
            return timeout_ns == RUN_FOREVER ? run_semaphore_acquire(t->semaphore)
                                             : run_semaphore_acquire_for(t->semaphore, timeout_ns);
        case 8:
            return run_latch_wait_for(t->latch, timeout_ns);
        case 9:
            return timeout_ns == RUN_FOREVER ? run_event_wait(t->event) : run_event_wait_for(t->event, timeout_ns);
        case 10:
            return run_wait_group_wait_for(t->group, timeout_ns);
        case 11:
            return timeout_ns == RUN_FOREVER ? run_future_wait(t->future, NULL)
                                             : run_future_wait_for(t->future, NULL, timeout_ns);
        case 12:
            return run_recursive_mutex_lock_for(t->recursive, timeout_ns);
        default:
            return run_sleep_ns(timeout_ns == RUN_FOREVER ? RUN_FOREVER : 3600 * 1000 * ms);
    }
}

enum { kinds = 14 };

static void* lock_and_hold(void* argument) {
    struct things* t = argument;
    hold_a_recursive_mutex(t);
    CHECK_OK(run_event_wait(t->end));
    CHECK_OK(run_recursive_mutex_unlock(t->recursive));
    return NULL;
}

static void every_wait_of_those_that_can_be_is_interrupted(void) {
    struct things t;
    CHECK_OK(run_chan_make(&t.chan, 1, 0));
    CHECK_OK(run_mutex_make(&t.mutex));
    CHECK_OK(run_mutex_make(&t.free_mutex));
    CHECK_OK(run_recursive_mutex_make(&t.recursive));
    CHECK_OK(run_rwmutex_make(&t.rwmutex));
    CHECK_OK(run_cond_make(&t.cond));
    CHECK_OK(run_semaphore_make(&t.semaphore, 0));
    CHECK_OK(run_latch_make(&t.latch, 1));
    CHECK_OK(run_event_make(&t.event));
    CHECK_OK(run_event_make(&t.end));
    CHECK_OK(run_wait_group_make(&t.group));
    CHECK_OK(run_async(&t.future, outlast, t.end));
    CHECK_OK(run_mutex_lock(t.mutex));
    CHECK_OK(run_mutex_lock(t.free_mutex));
    CHECK_OK(run_rwmutex_lock(t.rwmutex));
    CHECK_OK(run_wait_group_add(t.group, 1));
    const pthread_t holder = plain_thread(lock_and_hold, &t);
    CHECK_OK(run_event_wait(t.event));
    CHECK_OK(run_event_reset(t.event));

    for (int i = 0; i < kinds; ++i) {
        run_scope_t* scope;
        run_scope_opts_t opts = RUN_SCOPE_OPTS_INIT;
        // Cancelled before it begins.
        CHECK_OK(run_scope_begin(&scope));
        CHECK_OK(run_scope_cancel(scope));
        CHECK_STATUS(RUN_CANCELLED, by(&t, i, RUN_FOREVER));
        CHECK_STATUS(RUN_CANCELLED, by(&t, i, 3600 * 1000 * ms));
        CHECK_STATUS(RUN_CANCELLED, run_scope_join(scope, NULL));
        // Cancelled during its wait, or just before.
        CHECK_OK(run_scope_begin(&scope));
        const pthread_t other = plain_thread(cancel_it, scope);
        CHECK_STATUS(RUN_CANCELLED, by(&t, i, RUN_FOREVER));
        join(other);
        CHECK_STATUS(RUN_CANCELLED, run_scope_join(scope, NULL));
        // A deadline around the scope. The scope's own deadline is later, or earlier.
        opts.timeout_ns = ms;
        CHECK_OK(run_scope_begin_with(&scope, &opts));
        CHECK_STATUS(RUN_EXPIRED, by(&t, i, RUN_FOREVER));
        CHECK_STATUS(RUN_EXPIRED, run_cancel_status());
        CHECK_OK(run_scope_join(scope, NULL));
        opts.timeout_ns = 3600 * 1000 * ms;
        CHECK_OK(run_scope_begin_with(&scope, &opts));
        if (i < kinds - 1) CHECK_STATUS(RUN_TIMEOUT, by(&t, i, ms));
        CHECK_OK(run_cancel_status());
        CHECK_OK(run_scope_join(scope, NULL));
    }

    CHECK_OK(run_event_set(t.end));
    join(holder);
    CHECK_OK(run_mutex_unlock(t.free_mutex));
    CHECK_OK(run_mutex_unlock(t.mutex));
    CHECK_OK(run_rwmutex_unlock(t.rwmutex));
    CHECK_OK(run_wait_group_done(t.group));
    CHECK_OK(run_future_wait(t.future, NULL));
    run_future_release(t.future);
    run_event_free(t.end);
    run_wait_group_free(t.group);
    run_event_free(t.event);
    run_latch_free(t.latch);
    run_semaphore_free(t.semaphore);
    run_cond_free(t.cond);
    run_rwmutex_free(t.rwmutex);
    run_recursive_mutex_free(t.recursive);
    run_mutex_free(t.free_mutex);
    run_mutex_free(t.mutex);
    run_chan_release(t.chan);
}

// ---- Nesting, shielding, misuse.

static int open_another(void* never) {
    run_scope_t* inner;
    CHECK_OK(run_scope_begin(&inner));
    CHECK_OK(run_scope_go(inner, wait_for_ever, never));
    CHECK_OK(run_scope_go(inner, wait_for_ever, never));
    CHECK_STATUS(RUN_CANCELLED, run_scope_join(inner, NULL));
    return 0;
}

static void cancelling_reaches_inner_scopes(void) {
    run_chan_t* never;
    run_scope_t* outer;
    CHECK_OK(run_chan_make(&never, 1, 0));
    store(&interrupted, 0);
    CHECK_OK(run_scope_begin(&outer));
    CHECK_OK(run_scope_go(outer, open_another, never));
    CHECK_OK(run_scope_go(outer, open_another, never));
    run_yield();
    CHECK_OK(run_scope_cancel(outer));
    CHECK_STATUS(RUN_CANCELLED, run_scope_join(outer, NULL));
    CHECK(load(&interrupted) == 4);
    run_chan_release(never);
}

static void a_shield_keeps_it_off(void) {
    run_chan_t* chan;
    run_scope_t* scope;
    CHECK_OK(run_chan_make(&chan, 1, 0));
    CHECK_OK(run_scope_begin(&scope));
    CHECK_OK(run_scope_cancel(scope));
    void* shielded = run_shield_begin();
    CHECK_OK(run_cancel_status());
    CHECK_STATUS(RUN_TIMEOUT, run_chan_recv_for(chan, NULL, ms));
    run_shield_end(shielded);
    CHECK_STATUS(RUN_CANCELLED, run_chan_recv_for(chan, NULL, ms));
    CHECK_STATUS(RUN_CANCELLED, run_scope_join(scope, NULL));
    run_chan_release(chan);
}

static int join_the_scope_around(void* scope) {
    CHECK_STATUS(RUN_INVALID, run_scope_join(*(run_scope_t**)scope, NULL));
    return 0;
}

static void brackets_are_brackets(void) {
    run_scope_t* outer;
    run_scope_t* inner;
    CHECK_OK(run_scope_begin(&outer));
    CHECK_OK(run_scope_begin(&inner));
    CHECK_STATUS(RUN_INVALID, run_scope_join(outer, NULL));
    CHECK_OK(run_scope_join(inner, NULL));
    CHECK_OK(run_scope_go(outer, join_the_scope_around, &outer));
    CHECK_OK(run_scope_join(outer, NULL));
    CHECK_STATUS(RUN_INVALID, run_scope_begin(NULL));
    CHECK_STATUS(RUN_INVALID, run_scope_go(NULL, work, NULL));
    CHECK_STATUS(RUN_INVALID, run_scope_cancel(NULL));
    CHECK_STATUS(RUN_INVALID, run_scope_join(NULL, NULL));
    CHECK(!run_scope_is_cancelled(NULL));
    CHECK_OK(run_scope_begin(&outer));
    CHECK_STATUS(RUN_INVALID, run_scope_go(outer, NULL, NULL));
    int done = 0;
    CHECK_OK((run_scope_go)(outer, work, &done));
    CHECK_OK(run_scope_join(outer, NULL));
    CHECK(load(&done) == 1);
    run_scope_opts_t opts = RUN_SCOPE_OPTS_INIT;
    opts.timeout_ns = 0;  // has passed
    CHECK_OK(run_scope_begin_with(&outer, &opts));
    CHECK_STATUS(RUN_EXPIRED, run_cancel_status());
    CHECK_STATUS(RUN_EXPIRED, run_sleep_ns(ms));
    CHECK_OK(run_scope_join(outer, NULL));
}

int main(void) {
    RUN_EVERYWHERE(a_scope_waits_for_its_tasks);
    RUN_EVERYWHERE(the_first_failure_cancels_the_others);
    RUN_EVERYWHERE(a_scope_may_be_cancelled_by_anybody);
    RUN_EVERYWHERE(every_wait_of_those_that_can_be_is_interrupted);
    RUN_EVERYWHERE(cancelling_reaches_inner_scopes);
    RUN_EVERYWHERE(a_shield_keeps_it_off);
    RUN_EVERYWHERE(brackets_are_brackets);
    return 0;
}
