// blocking_test.c: announced blocking calls.
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

// Between enter and exit the caller is a plain thread, and errno is kept.
static void a_call_is_made_as_by_a_plain_thread(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    for (int i = 0; i < 20; ++i) {
        static run_blocking_site_t site;
        char byte = 0;
        run_blocking_call_t call;
        run_blocking_enter_at(&call, &site);
        CHECK(run_g_id() == 0);
        CHECK(write(ends[1], "x", 1) == 1);
        CHECK(read(ends[0], &byte, 1) == 1);
        errno = EXDEV;
        run_blocking_exit(&call);
        CHECK(errno == EXDEV);
        CHECK(byte == 'x');
    }
    close(ends[0]);
    close(ends[1]);
}

struct fed {
    int fd;
    int written;
};

static void write_a_byte(void* argument) {
    struct fed* f = argument;
    add(&f->written, 1);
    CHECK(write(f->fd, "y", 1) == 1);
}

struct reader {
    int fd;
    char byte;
};

static void read_a_byte(void* argument) {
    struct reader* r = argument;
    CHECK(run_g_id() == 0);
    CHECK(read(r->fd, &r->byte, 1) == 1);
}

static void a_call_waits_for_what_another_does(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    static run_blocking_site_t site;
    for (int i = 0; i < 20; ++i) {
        struct fed f = {ends[1], 0};
        struct reader r = {ends[0], 0};
        CHECK_OK(run_spawn(write_a_byte, &f));
        CHECK_OK(run_blocking(&site, read_a_byte, &r));
        CHECK(r.byte == 'y' && load(&f.written) == 1);
    }
    close(ends[0]);
    close(ends[1]);
}

static void inner_enter(void* number) {
    run_blocking_call_t inner;
    run_blocking_enter(&inner);
    add(number, 1);
    run_blocking_exit(&inner);
}

static void a_call_in_a_call_is_just_made(void) {
    int number = 0;
    const uint64_t me = run_g_id();
    CHECK_OK(run_blocking(NULL, inner_enter, &number));
    CHECK(number == 1 && run_g_id() == me);
    CHECK_STATUS(RUN_INVALID, run_blocking(NULL, NULL, NULL));
}

// ---- Pools.

enum { places = 2, callers = 8 };

struct crowd {
    run_blocking_pool_t* pool;
    int at_once;
    int most;
    int calls;
};

static void work_in_pool(void* argument) {
    struct crowd* c = argument;
    const int now = add(&c->at_once, 1);
    int seen = load(&c->most);
    while (seen < now &&
           !__atomic_compare_exchange_n(&c->most, &seen, now, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {}
    CHECK(run_g_id() == 0);
    CHECK(run_blocking_pool_running(c->pool) >= 1 && run_blocking_pool_running(c->pool) <= places);
    const struct timespec a_moment = {.tv_sec = 0, .tv_nsec = 1000000};
    nanosleep(&a_moment, NULL);
    add(&c->at_once, -1);
    add(&c->calls, 1);
}

static void call_in_pool(void* argument) {
    struct crowd* c = argument;
    for (int i = 0; i < 5; ++i) CHECK_OK(run_blocking_pool_run(c->pool, work_in_pool, c));
}

static void a_pool_lets_only_so_many_in(void) {
    struct crowd c = {NULL, 0, 0, 0};
    run_wait_group_t* group;
    CHECK_OK(run_blocking_pool_make(&c.pool, places));
    CHECK_OK(run_wait_group_make(&group));
    for (int i = 0; i < callers; ++i) CHECK_OK(run_wait_group_go(group, call_in_pool, &c));
    CHECK_OK(run_wait_group_wait(group));
    CHECK(load(&c.calls) == callers * 5);
    CHECK(load(&c.most) >= 1 && load(&c.most) <= places);
    CHECK(run_blocking_pool_running(c.pool) == 0 && run_blocking_pool_waiting(c.pool) == 0);
    run_wait_group_free(group);
    run_blocking_pool_free(c.pool);
}

struct held {
    run_blocking_pool_t* pool;
    struct reader reader;
    int began;
    int told;
};

static void read_in_pool(void* argument) {
    struct held* h = argument;
    add(&h->began, 1);
    read_a_byte(&h->reader);
}

static void hold_the_pool(void* argument) {
    struct held* h = argument;
    CHECK_OK(run_blocking_pool_run(h->pool, read_in_pool, h));
}

static int wait_for_the_pool(void* argument) {
    struct held* h = argument;
    const run_status_t status = run_blocking_pool_run(h->pool, read_in_pool, h);
    store(&h->told, (int)status + 1);
    return 0;
}

static void a_wait_for_a_place_can_be_cancelled(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    struct held h = {NULL, {ends[0], 0}, 0, 0};
    run_wait_group_t* holder;
    run_scope_t* scope;
    CHECK_OK(run_blocking_pool_make(&h.pool, 1));
    CHECK_OK(run_wait_group_make(&holder));
    CHECK_OK(run_wait_group_go(holder, hold_the_pool, &h));
    WAIT_UNTIL(load(&h.began) == 1);
    CHECK_OK(run_scope_begin(&scope));
    CHECK_OK(run_scope_go(scope, wait_for_the_pool, &h));
    WAIT_UNTIL(run_blocking_pool_waiting(h.pool) == 1);
    CHECK_OK(run_scope_cancel(scope));
    run_scope_join(scope, NULL);
    CHECK(load(&h.told) == RUN_CANCELLED + 1 && load(&h.began) == 1);
    CHECK(write(ends[1], "z", 1) == 1);
    CHECK_OK(run_wait_group_wait(holder));
    CHECK(h.reader.byte == 'z' && run_blocking_pool_waiting(h.pool) == 0);
    run_wait_group_free(holder);
    run_blocking_pool_free(h.pool);
    close(ends[0]);
    close(ends[1]);
}

static void pools_are_checked(void) {
    run_blocking_pool_t* pool;
    CHECK_STATUS(RUN_INVALID, run_blocking_pool_make(&pool, 0));
    CHECK_STATUS(RUN_INVALID, run_blocking_pool_make(&pool, UINT32_MAX));
    CHECK_STATUS(RUN_INVALID, run_blocking_pool_make(NULL, 1));
    CHECK_OK(run_blocking_pool_make(&pool, 1));
    CHECK_STATUS(RUN_INVALID, run_blocking_pool_run(pool, NULL, NULL));
    CHECK_STATUS(RUN_INVALID, run_blocking_pool_run(NULL, work_in_pool, NULL));
    CHECK(run_blocking_pool_running(NULL) == 0 && run_blocking_pool_waiting(NULL) == 0);
    run_blocking_pool_free(pool);
    run_blocking_pool_free(NULL);
}

int main(void) {
    RUN_EVERYWHERE(a_call_is_made_as_by_a_plain_thread);
    RUN_EVERYWHERE(a_call_waits_for_what_another_does);
    RUN_EVERYWHERE(a_call_in_a_call_is_just_made);
    RUN_EVERYWHERE(a_pool_lets_only_so_many_in);
    RUN_EVERYWHERE(a_wait_for_a_place_can_be_cancelled);
    RUN_TEST(pools_are_checked);
    return 0;
}
