// spawn_test.c: starting green threads, and what they do to themselves.
#include <fenv.h>

#include "check.h"

static void count(void* counter) { add(counter, 1); }

static void a_function_is_run_with_its_argument(void) {
    int done = 0;
    for (int i = 0; i < 1000; ++i) CHECK_OK(run_spawn(count, &done));
    WAIT_UNTIL(load(&done) == 1000);
    CHECK_OK((run_spawn)(count, &done));  // the function, not the macro
    CHECK_OK((run_spawn_with)(NULL, count, &done));
    WAIT_UNTIL(load(&done) == 1002);
}

static void* spawn_from_a_plain_thread(void* counter) {
    for (int i = 0; i < 100; ++i) CHECK_OK(run_spawn(count, counter));
    return NULL;
}

static void plain_threads_spawn_too(void) {
    int done = 0;
    const pthread_t a = plain_thread(spawn_from_a_plain_thread, &done);
    const pthread_t b = plain_thread(spawn_from_a_plain_thread, &done);
    WAIT_UNTIL(load(&done) == 200);
    join(a);
    join(b);
}

struct self {
    uint64_t id;
    char name[40];
    int done;
};

static void introduce(void* argument) {
    struct self* s = argument;
    s->id = run_g_id();
    strcpy(s->name, run_g_name());
    store(&s->done, 1);
}

static void they_have_numbers_and_names(void) {
    struct self a = {0, "", 0};
    struct self b = {0, "", 0};
    run_spawn_opts_t opts = RUN_SPAWN_OPTS_INIT;
    opts.name = "a name that is far too long to be kept";
    CHECK_OK(run_spawn_with(&opts, introduce, &a));
    CHECK_OK(run_spawn(introduce, &b));
    WAIT_UNTIL(load(&a.done) == 1 && load(&b.done) == 1);
    CHECK(a.id != 0 && b.id != 0 && a.id != b.id);
    CHECK(strcmp(a.name, "a name that is far too long to ") == 0);
    CHECK(strcmp(b.name, "") == 0);
}

static void use_a_megabyte(void* done) {
    volatile char bytes[1024 * 1024];
    for (size_t i = 0; i < sizeof(bytes); i += 4096) bytes[i] = 1;
    store(done, bytes[4096]);
}

static void change_rounding(void* done) {
    fesetround(FE_UPWARD);
    for (int i = 0; i < 10; ++i) {
        run_yield();
        CHECK(fegetround() == FE_UPWARD);
    }
    store(done, 1);
}

static void options_count(void) {
    int done = 0;
    run_spawn_opts_t opts = RUN_SPAWN_OPTS_INIT;
    opts.stack_size = 2 * 1024 * 1024;
    CHECK_OK(run_spawn_with(&opts, use_a_megabyte, &done));
    WAIT_UNTIL(load(&done) == 1);
    opts.stack_size = SIZE_MAX / 2;
    CHECK_STATUS(RUN_INVALID, run_spawn_with(&opts, count, &done));
    opts.stack_size = 0;
    opts.own_fp_control = true;
    store(&done, 0);
    CHECK_OK(run_spawn_with(&opts, change_rounding, &done));
    WAIT_UNTIL(load(&done) == 1);
    CHECK(fegetround() == FE_TONEAREST);
    opts.size = 3;
    CHECK_STATUS(RUN_INVALID, run_spawn_with(&opts, count, &done));
    opts.size = sizeof(opts) + 100;  // the size in a newer program; the known members are used
    CHECK(sizeof(opts) >= sizeof(size_t));
    CHECK_STATUS(RUN_INVALID, run_spawn(NULL, &done));
    CHECK_STATUS(RUN_INVALID, run_spawn_with(&opts, NULL, &done));
}

static void change_oneself(void* done) {
    CHECK(run_get_priority() == RUN_PRIORITY_LOW);
    CHECK_OK(run_set_priority(RUN_PRIORITY_HIGH));
    CHECK(run_get_priority() == RUN_PRIORITY_HIGH);
    CHECK_STATUS(RUN_INVALID, run_set_priority((run_priority_t)7));
    CHECK(run_get_priority() == RUN_PRIORITY_HIGH);
    CHECK(strcmp(run_g_name(), "first") == 0);
    CHECK_OK(run_set_name("second"));
    CHECK(strcmp(run_g_name(), "second") == 0);
    CHECK_OK(run_set_name(NULL));
    CHECK(strcmp(run_g_name(), "") == 0);
    CHECK_OK(run_set_label("request", "42"));
    CHECK_STATUS(RUN_INVALID, run_set_label(NULL, "42"));
    CHECK_STATUS(RUN_INVALID, run_set_label("request", NULL));
    store(done, 1);
}

static void they_may_change_what_they_are(void) {
    const run_label_t labels[] = {{"a", "1"}, {"b", "2"}};
    const run_label_t bad[] = {{"a", "1"}, {NULL, "2"}};
    int done = 0;
    run_spawn_opts_t opts = RUN_SPAWN_OPTS_INIT;
    opts.name = "first";
    opts.priority = RUN_PRIORITY_LOW;
    opts.label_count = 2;
    opts.labels = labels;
    CHECK_OK(run_spawn_with(&opts, change_oneself, &done));
    WAIT_UNTIL(load(&done) == 1);
    opts.labels = bad;
    CHECK_STATUS(RUN_INVALID, run_spawn_with(&opts, change_oneself, &done));
    opts.labels = NULL;
    CHECK_STATUS(RUN_INVALID, run_spawn_with(&opts, change_oneself, &done));
    opts.label_count = 0;
    opts.priority = (run_priority_t)3;
    CHECK_STATUS(RUN_INVALID, run_spawn_with(&opts, change_oneself, &done));
    if (run_g_id() != 0) {
        CHECK_OK(run_set_label("of", "main"));
        CHECK_OK(run_set_name("another"));
    } else {
        CHECK_OK(run_set_label("nobody's", "label"));
        CHECK_OK(run_set_priority(RUN_PRIORITY_HIGH));
        CHECK(run_get_priority() == RUN_PRIORITY_NORMAL);
    }
}

static void yield_lets_others_run_and_says_so(void) {
    if (run_g_id() == 0) {
        CHECK(!run_yield());
        return;
    }
    int done = 0;
    CHECK_OK(run_spawn(count, &done));
    CHECK_OK(run_spawn(count, &done));
    WAIT_UNTIL(load(&done) == 2);
}

static void on_one_processor_they_take_turns(void) {
    int done = 0;
    for (int i = 0; i < 3; ++i) CHECK_OK(run_spawn(count, &done));
    CHECK(load(&done) == 0);
    CHECK(run_yield());
    CHECK(load(&done) == 3);
    CHECK(!run_yield());  // no other green thread is left
}

static void work_with_checkpoints(void* argument) {
    int* others = argument;
    while (load(others) == 0) run_checkpoint();
}

static void checkpoints_let_others_run(void) {
    int others = 0;
    run_wait_group_t* group;
    run_checkpoint();
    CHECK_OK(run_wait_group_make(&group));
    CHECK_OK(run_wait_group_go(group, work_with_checkpoints, &others));
    CHECK_OK(run_wait_group_go(group, count, &others));
    CHECK_OK(run_wait_group_wait(group));
    run_wait_group_free(group);
}

// ---- A green thread ends itself.

static int depth_reached;

static int returned;

static void end_in_depth(int depth) {
    volatile char frame[200];
    frame[0] = (char)depth;
    if (depth > 0) {
        end_in_depth(depth - 1);
    } else {
        run_yield();
        if (add(&depth_reached, 1) > 0) run_g_exit();
    }
    add(&returned, 1 + frame[0]);
}

static void end_somewhere(void* unused) {
    (void)unused;
    end_in_depth(20);
}

static void one_may_end_where_one_is(void) {
    enum { some = 500 };

    run_wait_group_t* group;
    store(&depth_reached, 0);
    CHECK_OK(run_wait_group_make(&group));
    for (int i = 0; i < some; ++i) CHECK_OK(run_wait_group_go(group, end_somewhere, NULL));
    CHECK_OK(run_wait_group_wait(group));
    CHECK(load(&depth_reached) == some);
    for (int i = 0; i < some; ++i) CHECK_OK(run_spawn(end_somewhere, NULL));
    WAIT_UNTIL(load(&depth_reached) == 2 * some);
    CHECK(load(&returned) == 0);
    run_wait_group_free(group);
}

static void* end_for_good(void* unused) {
    (void)unused;
    end_in_depth(3);
    return &depth_reached;
}

static int end_and_not_fail(void* unused) {
    (void)unused;
    end_in_depth(3);
    return 1;
}

static void a_join_returns_when_the_joined_one_has_ended_so(void) {
    run_future_t* future;
    void* result = &future;
    CHECK_OK(run_async(&future, end_for_good, NULL));
    CHECK_OK(run_future_wait(future, &result));
    CHECK(result == NULL);
    run_future_release(future);
    run_scope_t* scope;
    CHECK_OK(run_scope_begin(&scope));
    for (int i = 0; i < 10; ++i) CHECK_OK(run_scope_go(scope, end_and_not_fail, NULL));
    CHECK_OK(run_scope_join(scope, NULL));
}

struct order {
    char text[4];
    int length;
};

static void say_normal(void* order) {
    struct order* o = order;
    o->text[o->length++] = 'n';
}

static void say_high(void* order) {
    struct order* o = order;
    o->text[o->length++] = 'h';
}

static void say_low(void* order) {
    struct order* o = order;
    o->text[o->length++] = 'l';
}

static void high_ones_go_first_and_low_ones_last(void) {
    struct order o = {"", 0};
    run_spawn_opts_t opts = RUN_SPAWN_OPTS_INIT;
    opts.priority = RUN_PRIORITY_LOW;
    CHECK_OK(run_spawn_with(&opts, say_low, &o));
    CHECK_OK(run_spawn(say_normal, &o));
    opts.priority = RUN_PRIORITY_HIGH;
    CHECK_OK(run_spawn_with(&opts, say_high, &o));
    // Low priority runs when nothing else is runnable.
    while (o.length != 3) CHECK_OK(run_sleep_ns(2000000));
    CHECK(memcmp(o.text, "hnl", 3) == 0);
}

struct pinned {
    int others;
    int done;
};

static void yield_often(void* pinned) {
    struct pinned* p = pinned;
    for (int i = 0; i < 100; ++i) run_yield();
    add(&p->others, 1);
}

static void stay(void* pinned) {
    struct pinned* p = pinned;
    CHECK_OK(run_pin());
    CHECK_OK(run_pin());
    const pthread_t here = thread_now();
    for (int i = 0; i < 100; ++i) {
        CHECK_OK(run_sleep_ns(i % 10 == 0 ? 10000 : 0));
        run_yield();
        CHECK(pthread_equal(here, thread_now()));
        if (i == 50) CHECK_OK(run_unpin());
    }
    CHECK_OK(run_unpin());
    CHECK_STATUS(RUN_INVALID, run_unpin());
    add(&p->done, 1);
}

static void stay_for_good(void* pinned) {
    struct pinned* p = pinned;
    CHECK_OK(run_pin());
    run_yield();
    add(&p->done, 1);  // the OS thread ends with it
}

static void one_may_stay_on_ones_thread(void) {
    struct pinned p = {0, 0};
    if (run_g_id() == 0) {
        CHECK_OK(run_pin());
        CHECK_STATUS(RUN_INVALID, run_unpin());
    }
    // The default scheduler never ends, so no thread would join the last OS thread that ends.
    const bool for_good = run_g_id() != 0;
    for (int i = 0; i < 3; ++i) {
        CHECK_OK(run_spawn(stay, &p));
        if (for_good) CHECK_OK(run_spawn(stay_for_good, &p));
        CHECK_OK(run_spawn(yield_often, &p));
    }
    WAIT_UNTIL(load(&p.done) == (for_good ? 6 : 3) && load(&p.others) == 3);
}

static void main_may_be_pinned(void) {
    CHECK_OK(run_pin());
    struct pinned p = {0, 0};
    const pthread_t here = thread_now();
    for (int i = 0; i < 3; ++i) CHECK_OK(run_spawn(yield_often, &p));
    WAIT_UNTIL(load(&p.others) == 3);
    CHECK(pthread_equal(here, thread_now()));
    // run_scheduler_stop() follows. It ends the pin.
}

int main(void) {
    RUN_EVERYWHERE(a_function_is_run_with_its_argument);
    RUN_EVERYWHERE(plain_threads_spawn_too);
    RUN_EVERYWHERE(they_have_numbers_and_names);
    RUN_EVERYWHERE(options_count);
    RUN_EVERYWHERE(they_may_change_what_they_are);
    RUN_EVERYWHERE(yield_lets_others_run_and_says_so);
    in_scheduler(1, on_one_processor_they_take_turns);
    in_scheduler(1, high_ones_go_first_and_low_ones_last);
    RUN_EVERYWHERE(one_may_stay_on_ones_thread);
    in_scheduler(1, main_may_be_pinned);
    in_scheduler(4, main_may_be_pinned);
    RUN_EVERYWHERE(checkpoints_let_others_run);
    RUN_EVERYWHERE(one_may_end_where_one_is);
    RUN_EVERYWHERE(a_join_returns_when_the_joined_one_has_ended_so);
    return 0;
}
