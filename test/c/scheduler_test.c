// scheduler_test.c: run_scheduler_init and run_scheduler_stop.
#include <signal.h>
#include <unistd.h>

#include "check.h"

static void count(void* counter) { add(counter, 1); }

// ---- A plain thread becomes a green thread, and a plain one again.

static void the_caller_becomes_the_main_green_thread(void) {
    CHECK(run_g_id() == 0);
    CHECK(strcmp(run_g_name(), "") == 0);
    int local = 42;
    CHECK_OK(run_scheduler_init());
    CHECK(run_g_id() == 1);
    CHECK(strcmp(run_g_name(), "main") == 0);
    CHECK(run_procs() >= 1);
    CHECK(local == 42);
    CHECK_OK(run_scheduler_stop());
    CHECK(run_g_id() == 0);
    CHECK(local == 42);
}

static void it_may_be_started_anew(void) {
    for (int i = 0; i < 20; ++i) {
        int done = 0;
        CHECK_OK(run_scheduler_init());
        for (int k = 0; k < 10; ++k) CHECK_OK(run_spawn(count, &done));
        WAIT_UNTIL(load(&done) == 10);
        CHECK_OK(run_scheduler_stop());
    }
}

static void* start_count_and_stop(void* unused) {
    (void)unused;
    it_may_be_started_anew();
    return NULL;
}

static void any_plain_thread_may_be_the_main_one(void) {
    join(plain_thread(start_count_and_stop, NULL));
    join(plain_thread(start_count_and_stop, NULL));
}

// ---- Calls that are not allowed, and their errors.

static void* init_is_busy(void* unused) {
    (void)unused;
    CHECK_STATUS(RUN_BUSY, run_scheduler_init());
    CHECK_STATUS(RUN_INVALID, run_scheduler_stop());
    return NULL;
}

static void stop_is_not_for_me(void* done) {
    CHECK_STATUS(RUN_BUSY, run_scheduler_init());
    CHECK_STATUS(RUN_INVALID, run_scheduler_stop());
    store(done, 1);
}

static void there_is_one_at_a_time_and_only_its_main_ends_it(void) {
    CHECK_STATUS(RUN_INVALID, run_scheduler_stop());
    CHECK_OK(run_scheduler_init());
    CHECK_STATUS(RUN_BUSY, run_scheduler_init());
    join(plain_thread(init_is_busy, NULL));
    int done = 0;
    CHECK_OK(run_spawn(stop_is_not_for_me, &done));
    WAIT_UNTIL(load(&done) == 1);
    CHECK_OK(run_scheduler_stop());
    CHECK_STATUS(RUN_INVALID, run_scheduler_stop());
}

static void options_are_checked_and_then_nothing_has_happened(void) {
    run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
    opts.procs = RUN_MAX_P_COUNT + 1;
    CHECK_STATUS(RUN_INVALID, run_scheduler_init_with(&opts));
    opts.procs = 1;
    opts.stack_size = 1;
    CHECK_STATUS(RUN_INVALID, run_scheduler_init_with(&opts));
    opts.stack_size = 0;
    opts.size = 1;
    CHECK_STATUS(RUN_INVALID, run_scheduler_init_with(&opts));
    CHECK(run_g_id() == 0);
    // The struct of an older program ends after procs. Later members count as not set.
    opts.size = offsetof(run_scheduler_opts_t, procs) + sizeof(opts.procs);
    opts.procs = 3;
    opts.stack_size = 1;
    CHECK_OK(run_scheduler_init_with(&opts));
    CHECK(run_procs() == 3);
    CHECK_OK(run_scheduler_stop());
    CHECK_OK((run_scheduler_init_with)(NULL));
    CHECK_OK(run_scheduler_stop());
    CHECK_OK((run_scheduler_init)());
    CHECK_OK(run_scheduler_stop());
}

// ---- The main green thread is like any other.

struct relay {
    run_chan_t* there;
    run_chan_t* back;
};

static void echo(void* argument) {
    struct relay* r = argument;
    long value;
    while (run_chan_recv(r->there, &value) == RUN_OK) CHECK_OK(run_chan_send(r->back, &value));
}

static void main_parks_and_others_run(void) {
    struct relay r;
    CHECK_OK(run_chan_make(&r.there, sizeof(long), 0));
    CHECK_OK(run_chan_make(&r.back, sizeof(long), 0));
    run_wait_group_t* group;
    CHECK_OK(run_wait_group_make(&group));
    CHECK_OK(run_wait_group_go(group, echo, &r));
    for (long i = 0; i < 2000; ++i) {
        long answer = -1;
        CHECK_OK(run_chan_send(r.there, &i));
        CHECK_OK(run_chan_recv(r.back, &answer));
        CHECK(answer == i);
    }
    CHECK_OK(run_chan_close(r.there));
    CHECK_STATUS(RUN_TIMEOUT, run_chan_recv_for(r.back, NULL, 1000000));  // main sleeps
    CHECK_OK(run_wait_group_wait(group));
    run_wait_group_free(group);
    run_chan_release(r.back);
    run_chan_release(r.there);
}

// Keeps the P of the green thread that started it busy, so that main is stolen.
static void hog_until(void* released) {
    while (load(released) == 0) {}
}

static int moved;

static void main_moves_to_other_threads_and_comes_back(void) {
    const pthread_t home = thread_now();
    for (int i = 0; i < 200; ++i) {
        run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
        opts.procs = 2;
        CHECK_OK(run_scheduler_init_with(&opts));
        int released = 0;
        CHECK_OK(run_spawn(hog_until, &released));
        run_yield();  // the hog runs on our OS thread, unless it is stolen first, and main resumes on another
        if (!pthread_equal(thread_now(), home)) ++moved;
        store(&released, 1);
        CHECK_OK(run_scheduler_stop());
        CHECK(pthread_equal(thread_now(), home));
        CHECK(run_g_id() == 0);
    }
    CHECK(moved > 0);
}

static int use_stack(int depth) {
    volatile char frame[1024];
    for (size_t i = 0; i < sizeof(frame); ++i) frame[i] = (char)depth;
    if (depth == 0) return 0;
    run_yield();
    const int below = use_stack(depth - 1);
    for (size_t i = 0; i < sizeof(frame); ++i) CHECK(frame[i] == (char)depth);
    return below + 1;
}

// 1 MiB: more than the default stack of any green thread, less than the stack of an OS thread.
static void main_has_the_stack_of_its_thread(void) { CHECK(use_stack(1000) == 1000); }

// ---- The end.

struct forever {
    run_chan_t* never;
    int begun;
};

static void wait_for_ever(void* argument) {
    struct forever* f = argument;
    add(&f->begun, 1);
    run_chan_recv(f->never, NULL);
    CHECK_NEVER("an abandoned green thread went on");
}

static void never_started(void* unused) {
    (void)unused;
    CHECK_NEVER("it was not to be run");
}

static void others_are_abandoned(void) {
    struct forever f = {NULL, 0};
    CHECK_OK(run_chan_make(&f.never, 1, 0));
    run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
    opts.procs = 1;
    CHECK_OK(run_scheduler_init_with(&opts));
    for (int i = 0; i < 10; ++i) CHECK_OK(run_spawn(wait_for_ever, &f));
    WAIT_UNTIL(load(&f.begun) == 10);
    for (int i = 0; i < 10; ++i) CHECK_OK(run_spawn(never_started, NULL));
    CHECK_OK(run_scheduler_stop());
    CHECK_STATUS(RUN_WOULD_BLOCK, run_chan_try_send(f.never, "x"));  // its queue is empty
    run_chan_release(f.never);
}

// ---- Options that change what the monitor does.

// Computes for ns without entering the scheduler.
static void hog_for_ns(int64_t ns) {
    const int64_t began = run_now_ns();
    while (run_now_ns() - began < ns) {}
}

static void begin_with_short_slices(run_scheduler_opts_t opts) {
    opts.procs = 1;
    opts.slice_ns = 1000000;
    CHECK_OK(run_scheduler_init_with(&opts));
}

static void the_monitor_takes_processors_away_unless_told_not_to(void) {
    run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
    int done = 0;
    begin_with_short_slices(opts);
    CHECK_OK(run_spawn(count, &done));
    while (load(&done) == 0) {}  // would not end
    CHECK_OK(run_scheduler_stop());

    opts.no_retake = true;
    begin_with_short_slices(opts);
    CHECK_OK(run_spawn(count, &done));
    hog_for_ns(50000000);
    CHECK(load(&done) == 1);
    WAIT_UNTIL(load(&done) == 2);
    run_counts_t counts = RUN_COUNTS_INIT;
    CHECK_OK(run_stats(&counts));
    CHECK(counts.retakes_burning == 0 && counts.retakes_blocked == 0);
    CHECK_OK(run_scheduler_stop());
}

static bool is_handled(int signal) {
    struct sigaction now;
    CHECK(sigaction(signal, NULL, &now) == 0);
    return (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL;
}

// The handler is installed because of marked code.
static void mark_some_code(const run_scheduler_opts_t* opts) {
    CHECK_OK(run_scheduler_init_with(opts));
    CHECK_OK(run_preempt_enable());
    CHECK_OK(run_preempt_disable());
    CHECK_OK(run_scheduler_stop());
}

static void the_signal_that_interrupts_is_chosen(void) {
    run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
    opts.preempt_signal = SIGSEGV;
    CHECK_STATUS(RUN_INVALID, run_scheduler_init_with(&opts));
    opts.preempt_signal = RUN_NO_SIGNAL;
    mark_some_code(&opts);
    CHECK(!is_handled(SIGUSR2));
    opts.preempt_signal = SIGUSR2;
    mark_some_code(&opts);
    CHECK(NO_SIGNALS || is_handled(SIGUSR2));
}

static void the_watchdog_names_what_computes(void) {
    char text[4096] = "";
    FILE* said = tmpfile();
    const int real = dup(STDERR_FILENO);
    CHECK(said != NULL && real >= 0);
    run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
    opts.watchdog_ns = -1;
    CHECK_STATUS(RUN_INVALID, run_scheduler_init_with(&opts));
    opts.watchdog_ns = 20000000;
    CHECK(dup2(fileno(said), STDERR_FILENO) >= 0);
    CHECK_OK(run_scheduler_init_with(&opts));
    while (strstr(text, "\"main\"") == NULL) {
        hog_for_ns(30000000);
        CHECK(pread(fileno(said), text, sizeof(text) - 1, 0) >= 0);
    }
    CHECK_OK(run_scheduler_stop());
    CHECK(dup2(real, STDERR_FILENO) >= 0);
    CHECK(strstr(text, "weft: watchdog: ") != NULL && strstr(text, "has run for") != NULL);
    close(real);
    fclose(said);
}

static void set(void* flag) { store(flag, 1); }

static void default_stacks_may_be_of_any_size(void) {
    for (size_t size = 16 * 1024; size <= 64 * 1024 * 1024; size *= 4) {
        int done = 0;
        run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
        opts.procs = 2;
        opts.stack_size = size;
        CHECK_OK(run_scheduler_init_with(&opts));
        CHECK_OK(run_spawn(set, &done));
        WAIT_UNTIL(load(&done) == 1);
        CHECK_OK(run_scheduler_stop());
    }
}

int main(void) {
    RUN_TEST(the_caller_becomes_the_main_green_thread);
    RUN_TEST(it_may_be_started_anew);
    RUN_TEST(any_plain_thread_may_be_the_main_one);
    RUN_TEST(there_is_one_at_a_time_and_only_its_main_ends_it);
    RUN_TEST(options_are_checked_and_then_nothing_has_happened);
    RUN_EVERYWHERE(main_parks_and_others_run);
    RUN_TEST(main_moves_to_other_threads_and_comes_back);
    RUN_EVERYWHERE(main_has_the_stack_of_its_thread);
    RUN_TEST(others_are_abandoned);
    if (!in_storm()) RUN_TEST(the_monitor_takes_processors_away_unless_told_not_to);
    RUN_TEST(the_signal_that_interrupts_is_chosen);
    RUN_TEST(the_watchdog_names_what_computes);
    RUN_TEST(default_stacks_may_be_of_any_size);
    return 0;
}
