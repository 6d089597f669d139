// lock_test.c: mutexes of all kinds, and conditions.
#include "check.h"

enum { rounds = 2000, threads_of_each_kind = 3 };

// Runs work(argument) on green and on plain threads, and waits for all.
static void crowd(void (*work)(void*), void* argument);

struct plain_call {
    void (*work)(void*);
    void* argument;
};

static void* call_plainly(void* argument) {
    const struct plain_call* c = argument;
    c->work(c->argument);
    return NULL;
}

static void crowd(void (*work)(void*), void* argument) {
    struct plain_call call = {work, argument};
    pthread_t threads[threads_of_each_kind];
    run_wait_group_t* group;
    CHECK_OK(run_wait_group_make(&group));
    for (int i = 0; i < threads_of_each_kind; ++i) {
        CHECK_OK(run_wait_group_go(group, work, argument));
        threads[i] = plain_thread(call_plainly, &call);
    }
    CHECK_OK(run_wait_group_wait(group));
    for (int i = 0; i < threads_of_each_kind; ++i) join(threads[i]);
    run_wait_group_free(group);
}

// ---- Mutex.

struct guarded {
    run_mutex_t* mutex;
    long count;
};

static void count_under_mutex(void* argument) {
    struct guarded* g = argument;
    for (int i = 0; i < rounds; ++i) {
        switch (i % 3) {
            case 0:
                CHECK_OK(run_mutex_lock(g->mutex));
                break;
            case 1:
                while (run_mutex_try_lock(g->mutex) != RUN_OK) step_aside();
                break;
            default:
                CHECK_OK(run_mutex_lock_for(g->mutex, RUN_FOREVER));
                break;
        }
        ++g->count;
        if (i % 100 == 0) run_yield();  // with the mutex held
        CHECK_OK(run_mutex_unlock(g->mutex));
    }
}

static void a_mutex_excludes(void) {
    struct guarded g = {NULL, 0};
    CHECK_OK(run_mutex_make(&g.mutex));
    crowd(count_under_mutex, &g);
    CHECK(g.count == 2L * threads_of_each_kind * rounds);
    CHECK_OK(run_mutex_lock(g.mutex));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_mutex_try_lock(g.mutex));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_mutex_lock_for(g.mutex, 0));
    CHECK_STATUS(RUN_TIMEOUT, run_mutex_lock_for(g.mutex, 1000000));
    CHECK_OK(run_mutex_unlock(g.mutex));
    run_mutex_free(g.mutex);
}

// ---- Recursive mutex.

struct recursive {
    run_recursive_mutex_t* mutex;
    long count;
};

static void count_recursively(void* argument) {
    struct recursive* r = argument;
    for (int i = 0; i < rounds / 4; ++i) {
        CHECK_OK(run_recursive_mutex_lock(r->mutex));
        CHECK_OK(run_recursive_mutex_try_lock(r->mutex));
        CHECK_OK(run_recursive_mutex_lock_for(r->mutex, 1000000));
        ++r->count;
        if (i % 100 == 0) run_yield();
        for (int k = 0; k < 3; ++k) CHECK_OK(run_recursive_mutex_unlock(r->mutex));
    }
}

static void find_it_locked(void* argument) {
    struct recursive* r = argument;
    CHECK_STATUS(RUN_WOULD_BLOCK, run_recursive_mutex_try_lock(r->mutex));
    CHECK_STATUS(RUN_TIMEOUT, run_recursive_mutex_lock_for(r->mutex, 1000000));
}

static void a_recursive_mutex_lets_its_holder_in(void) {
    struct recursive r = {NULL, 0};
    CHECK_OK(run_recursive_mutex_make(&r.mutex));
    crowd(count_recursively, &r);
    CHECK(r.count == 2L * threads_of_each_kind * (rounds / 4));
    CHECK_OK(run_recursive_mutex_lock(r.mutex));
    crowd(find_it_locked, &r);
    CHECK_OK(run_recursive_mutex_unlock(r.mutex));
    run_recursive_mutex_free(r.mutex);
}

// ---- Readers and writer.

struct table {
    run_rwmutex_t* mutex;
    long a;
    long b;
    int readers;
    int most_readers;
};

static void read_or_write(void* argument) {
    struct table* t = argument;
    for (int i = 0; i < rounds; ++i) {
        if (i % 10 == 0) {
            if (i % 20 == 0) {
                CHECK_OK(run_rwmutex_lock(t->mutex));
            } else {
                CHECK_OK(run_rwmutex_lock_for(t->mutex, RUN_FOREVER));
            }
            CHECK(load(&t->readers) == 0);
            ++t->a;
            if (i % 100 == 0) run_yield();
            ++t->b;
            CHECK_OK(run_rwmutex_unlock(t->mutex));
        } else {
            if (i % 2 == 0) {
                CHECK_OK(run_rwmutex_rlock(t->mutex));
            } else {
                CHECK_OK(run_rwmutex_rlock_for(t->mutex, RUN_FOREVER));
            }
            const int now = add(&t->readers, 1);
            if (now > load(&t->most_readers)) store(&t->most_readers, now);
            CHECK(t->a == t->b);
            if (i % 100 == 1) run_yield();
            add(&t->readers, -1);
            CHECK_OK(run_rwmutex_runlock(t->mutex));
        }
    }
}

static void readers_share_and_writers_do_not(void) {
    struct table t = {NULL, 0, 0, 0, 0};
    CHECK_OK(run_rwmutex_make(&t.mutex));
    crowd(read_or_write, &t);
    CHECK(t.a == 2L * threads_of_each_kind * (rounds / 10) && t.b == t.a);
    CHECK_OK(run_rwmutex_rlock(t.mutex));
    CHECK_OK(run_rwmutex_try_rlock(t.mutex));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_rwmutex_try_lock(t.mutex));
    CHECK_STATUS(RUN_TIMEOUT, run_rwmutex_lock_for(t.mutex, 1000000));
    CHECK_OK(run_rwmutex_runlock(t.mutex));
    CHECK_OK(run_rwmutex_runlock(t.mutex));
    CHECK_OK(run_rwmutex_try_lock(t.mutex));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_rwmutex_try_rlock(t.mutex));
    CHECK_STATUS(RUN_TIMEOUT, run_rwmutex_rlock_for(t.mutex, 1000000));
    CHECK_OK(run_rwmutex_unlock(t.mutex));
    run_rwmutex_free(t.mutex);
}

// ---- Conditions.

struct queue {
    run_mutex_t* mutex;
    run_cond_t* changed;
    int items;
    long taken;
    int takers;
    bool over;
};

static void take(void* argument) {
    struct queue* q = argument;
    CHECK_OK(run_mutex_lock(q->mutex));
    ++q->takers;
    for (;;) {
        while (q->items == 0 && !q->over) CHECK_OK(run_cond_wait(q->changed, q->mutex));
        if (q->items == 0) break;
        --q->items;
        ++q->taken;
    }
    CHECK_OK(run_mutex_unlock(q->mutex));
}

static void give(void* argument) {
    struct queue* q = argument;
    for (int i = 0; i < rounds; ++i) {
        CHECK_OK(run_mutex_lock(q->mutex));
        ++q->items;
        CHECK_OK(run_mutex_unlock(q->mutex));
        CHECK_OK(run_cond_signal(q->changed));
    }
}

static void take_and_give(void* argument) {
    struct queue* q = argument;
    give(q);
    CHECK_OK(run_mutex_lock(q->mutex));
    q->over = true;
    CHECK_OK(run_cond_broadcast(q->changed));
    CHECK_OK(run_mutex_unlock(q->mutex));
}

static void a_condition_wakes_its_waiters(void) {
    struct queue q = {NULL, NULL, 0, 0, 0, false};
    struct plain_call plainly = {take, &q};
    run_wait_group_t* group;
    CHECK_OK(run_mutex_make(&q.mutex));
    CHECK_OK(run_cond_make(&q.changed));
    CHECK_OK(run_wait_group_make(&group));
    const pthread_t plain = plain_thread(call_plainly, &plainly);
    for (int i = 0; i < 3; ++i) CHECK_OK(run_wait_group_go(group, take, &q));
    take_and_give(&q);
    CHECK_OK(run_wait_group_wait(group));
    join(plain);
    CHECK(q.taken == rounds && q.takers == 4);
    CHECK_OK(run_mutex_lock(q.mutex));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_cond_wait_for(q.changed, q.mutex, 0));
    CHECK_STATUS(RUN_TIMEOUT, run_cond_wait_for(q.changed, q.mutex, 1000000));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_mutex_try_lock(q.mutex));  // locked again, both times
    CHECK_OK(run_mutex_unlock(q.mutex));
    run_wait_group_free(group);
    run_cond_free(q.changed);
    run_mutex_free(q.mutex);
}

static void null_is_refused(void) {
    run_mutex_t* mutex;
    run_cond_t* cond;
    CHECK_OK(run_mutex_make(&mutex));
    CHECK_OK(run_cond_make(&cond));
    CHECK_STATUS(RUN_INVALID, run_mutex_make(NULL));
    CHECK_STATUS(RUN_INVALID, run_mutex_lock(NULL));
    CHECK_STATUS(RUN_INVALID, run_mutex_try_lock(NULL));
    CHECK_STATUS(RUN_INVALID, run_mutex_lock_for(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_mutex_unlock(NULL));
    CHECK_STATUS(RUN_INVALID, run_recursive_mutex_make(NULL));
    CHECK_STATUS(RUN_INVALID, run_recursive_mutex_lock(NULL));
    CHECK_STATUS(RUN_INVALID, run_recursive_mutex_try_lock(NULL));
    CHECK_STATUS(RUN_INVALID, run_recursive_mutex_lock_for(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_recursive_mutex_unlock(NULL));
    CHECK_STATUS(RUN_INVALID, run_rwmutex_make(NULL));
    CHECK_STATUS(RUN_INVALID, run_rwmutex_lock(NULL));
    CHECK_STATUS(RUN_INVALID, run_rwmutex_try_lock(NULL));
    CHECK_STATUS(RUN_INVALID, run_rwmutex_lock_for(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_rwmutex_unlock(NULL));
    CHECK_STATUS(RUN_INVALID, run_rwmutex_rlock(NULL));
    CHECK_STATUS(RUN_INVALID, run_rwmutex_try_rlock(NULL));
    CHECK_STATUS(RUN_INVALID, run_rwmutex_rlock_for(NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_rwmutex_runlock(NULL));
    CHECK_STATUS(RUN_INVALID, run_cond_make(NULL));
    CHECK_STATUS(RUN_INVALID, run_cond_wait(NULL, mutex));
    CHECK_STATUS(RUN_INVALID, run_cond_wait(cond, NULL));
    CHECK_STATUS(RUN_INVALID, run_cond_wait_for(NULL, mutex, 1));
    CHECK_STATUS(RUN_INVALID, run_cond_wait_for(cond, NULL, 1));
    CHECK_STATUS(RUN_INVALID, run_cond_signal(NULL));
    CHECK_STATUS(RUN_INVALID, run_cond_broadcast(NULL));
    run_mutex_free(NULL);
    run_recursive_mutex_free(NULL);
    run_rwmutex_free(NULL);
    run_cond_free(NULL);
    run_cond_free(cond);
    run_mutex_free(mutex);
}

int main(void) {
    RUN_EVERYWHERE(a_mutex_excludes);
    RUN_EVERYWHERE(a_recursive_mutex_lets_its_holder_in);
    RUN_EVERYWHERE(readers_share_and_writers_do_not);
    RUN_EVERYWHERE(a_condition_wakes_its_waiters);
    RUN_TEST(null_is_refused);
    return 0;
}
