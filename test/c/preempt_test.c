// preempt_test.c: C code that may be interrupted anywhere, and code that itself checks whether it
// must yield.
//
// Time slices are short, so that the monitor asks soon. No test relies on a retake: they count the
// green threads that yielded.
#include "check.h"

static uint64_t step(uint64_t x) { return x * 6364136223846793005U + 1442695040888963407U; }

// Arithmetic without calls. Any lost bit changes the result.
static __attribute__((noinline)) uint64_t compute(uint64_t x, int n) {
    uint64_t a = x;
    uint64_t b = ~x;
    double d = 1.0;
    for (int i = 0; i < n; ++i) {
        a = step(a) ^ b;
        b = step(b) + (a < b ? 1U : 0U);
        d = d * 1.0000001 + (double)(a & 1U);
    }
    return a ^ b ^ (uint64_t)d;
}

// How often green threads yielded in the middle of a computation.
static uint64_t gave_way(void) {
    run_counts_t counts = RUN_COUNTS_INIT;
    CHECK_OK(run_stats(&counts));
    return counts.preempted + counts.interrupted;
}

// ---- Calls without an effect.

static void hook_and_marks_do_nothing(void) {
    CHECK_OK(run_preempt_enable());
    CHECK_OK(run_preempt_enable());
    CHECK_OK(run_preempt_disable());
    run_preempt_announce();
    run_preempt_hook();
}

static void marks_are_not_counted(void* done) {
    CHECK_STATUS(RUN_INVALID, run_preempt_disable());
    CHECK_OK(run_preempt_enable());
    CHECK_OK(run_preempt_enable());
    CHECK_OK(run_preempt_disable());
    CHECK_STATUS(RUN_INVALID, run_preempt_disable());
    store(done, 1);
}

static void one_end_is_for_all_beginnings(void) {
    int done = 0;
    CHECK_OK(run_spawn(marks_are_not_counted, &done));
    WAIT_UNTIL(load(&done) == 1);
}

static void a_plain_thread_has_nothing_to_end(void) {
    hook_and_marks_do_nothing();
    CHECK_OK(run_preempt_disable());
}

// ---- Under a monitor that asks. One green thread more than there are processors computes, so that
// one always waits.

struct work {
    int over;
    uint64_t expected;
    run_wait_group_t* group;
    void (*fn)(void* work);
};

enum { turns = 20, steps = 20000 };

static void do_work(void* argument) {
    struct work* w = argument;
    w->fn(w);
    CHECK_OK(run_wait_group_done(w->group));
}

// A green thread that has lost its processor is not asked again. So each queues for a processor
// from time to time, at intervals much longer than a slice.
enum { batch = 400, short_batch = 20000 };

static void compute_marked(void* argument) {
    struct work* w = argument;
    while (load(&w->over) == 0) {
        for (int i = 0; i < batch && load(&w->over) == 0; ++i) {
            CHECK_OK(run_preempt_enable());
            const uint64_t result = compute(42, steps);
            CHECK_OK(run_preempt_disable());
            CHECK(result == w->expected);
            if (gave_way() >= turns) store(&w->over, 1);
        }
        run_yield();
    }
}

static void compute_marked_as_a_whole(void* argument) {
    struct work* w = argument;
    while (load(&w->over) == 0) {
        for (int i = 0; i < batch && load(&w->over) == 0; ++i) CHECK(compute(42, steps) == w->expected);
        run_yield();  // also allowed in marked code
    }
}

static void compute_and_ask(void* argument) {
    struct work* w = argument;
    while (load(&w->over) == 0) {
        for (int i = 0; i < short_batch && load(&w->over) == 0; ++i) {
            CHECK(compute(42, steps / 100) == w->expected);
            run_preempt_hook();
            if (gave_way() >= turns) store(&w->over, 1);
        }
        run_yield();
    }
}

static void watch(void* argument) {
    struct work* w = argument;
    while (gave_way() < turns) {
        compute(42, steps);
        run_yield();
    }
    store(&w->over, 1);
}

// Starts fn with opts in as many green threads as there are processors, and calls last in the main
// green thread beside them, until enough of them have yielded. n: the steps of one computation.
static void until_they_gave_way(const run_spawn_opts_t* opts, void (*fn)(void*), void (*last)(void*), int n) {
    for (unsigned procs = 1; procs <= 4; procs *= 2) {
        run_scheduler_opts_t short_slices = RUN_SCHEDULER_OPTS_INIT;
        short_slices.procs = procs;
        short_slices.slice_ns = 500000;
        CHECK_OK(run_scheduler_init_with(&short_slices));
        run_wait_group_t* group;
        CHECK_OK(run_wait_group_make(&group));
        CHECK_OK(run_wait_group_add(group, (int)procs + 1));
        struct work w = {0, compute(42, n), group, fn};
        for (unsigned i = 0; i < procs; ++i) CHECK_OK(run_spawn_with(opts, do_work, &w));
        last(&w);
        CHECK_OK(run_wait_group_done(group));
        CHECK_OK(run_wait_group_wait(group));
        CHECK(gave_way() >= turns);
        run_wait_group_free(group);
        CHECK_OK(run_scheduler_stop());
    }
}

static void marked_code_gives_way_and_computes_what_it_should(void) {
    until_they_gave_way(NULL, compute_marked, compute_marked, steps);
}

static void a_function_may_be_marked_as_a_whole(void) {
    run_spawn_opts_t opts = RUN_SPAWN_OPTS_INIT;
    opts.preemptible = true;
    until_they_gave_way(&opts, compute_marked_as_a_whole, watch, steps);
}

static void a_green_thread_that_asks_gives_way(void) {
    run_preempt_announce();
    until_they_gave_way(NULL, compute_and_ask, compute_and_ask, steps / 100);
}

int main(void) {
    RUN_TEST(a_plain_thread_has_nothing_to_end);
    RUN_EVERYWHERE(hook_and_marks_do_nothing);
    RUN_TEST(one_end_is_for_all_beginnings);
    // With RUN_DEBUG=retake=always a processor is retaken before its green thread is asked.
    if (in_storm()) return 0;
    RUN_TEST(a_green_thread_that_asks_gives_way);
    if (NO_SIGNALS) return 0;
    RUN_TEST(marked_code_gives_way_and_computes_what_it_should);
    RUN_TEST(a_function_may_be_marked_as_a_whole);
    return 0;
}
