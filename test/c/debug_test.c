// debug_test.c: statistics and dumps.
#include <fcntl.h>
#include <unistd.h>

#include "check.h"

static void count(void* counter) { add(counter, 1); }

static void counts_are_filled_in(void) {
    run_counts_t counts = RUN_COUNTS_INIT;
    int done = 0;
    for (int i = 0; i < 10; ++i) CHECK_OK(run_spawn(count, &done));
    WAIT_UNTIL(load(&done) == 10);
    CHECK_OK(run_stats(&counts));
    CHECK(counts.size == sizeof(counts));
    CHECK(counts.procs >= 1 && counts.procs == run_procs());
    CHECK(counts.spawned >= 10 && counts.live == counts.spawned - counts.finished);
    CHECK(counts.runnable + counts.running + counts.in_call + counts.waiting >= counts.live);
    CHECK_STATUS(RUN_INVALID, run_dump_on_signal(-1));
    CHECK(run_scheduling_latency_ns(0.5) <= run_scheduling_latency_ns(1.0));
    run_external_waker_begin();
    run_external_waker_end();
    // An older program has a smaller struct. What lies beyond it is not touched.
    run_counts_t fewer = RUN_COUNTS_INIT;
    fewer.size = offsetof(run_counts_t, threads);
    fewer.threads = 4711;
    CHECK_OK(run_stats(&fewer));
    CHECK(fewer.procs == counts.procs && fewer.threads == 4711);
    fewer.size = 0;
    CHECK_STATUS(RUN_INVALID, run_stats(&fewer));
    CHECK_STATUS(RUN_INVALID, run_stats(NULL));

    // A newer program has a larger struct. It learns how much of it was filled.
    struct {
        run_counts_t known;
        uint64_t unknown;
    } more = {RUN_COUNTS_INIT, 4711};

    more.known.size = sizeof(more);
    CHECK_OK(run_stats(&more.known));
    CHECK(more.known.size == sizeof(run_counts_t) && more.unknown == 4711 && more.known.procs == counts.procs);
}

// On one processor, and with the caller running on it, nothing moves during the calls.
static void queues_and_threads_are_counted(void) {
    enum { normal = 7, high = 3, low = 2 };

    run_scheduler_opts_t alone = RUN_SCHEDULER_OPTS_INIT;
    alone.procs = 1;
    alone.no_retake = true;
    int done = 0;
    run_spawn_opts_t opts = RUN_SPAWN_OPTS_INIT;
    CHECK_OK(run_scheduler_init_with(&alone));
    for (int i = 0; i < normal; ++i) CHECK_OK(run_spawn_with(&opts, count, &done));
    opts.priority = RUN_PRIORITY_HIGH;
    for (int i = 0; i < high; ++i) CHECK_OK(run_spawn_with(&opts, count, &done));
    opts.priority = RUN_PRIORITY_LOW;
    for (int i = 0; i < low; ++i) CHECK_OK(run_spawn_with(&opts, count, &done));
    run_counts_t counts = RUN_COUNTS_INIT;
    CHECK_OK(run_stats(&counts));
    CHECK(counts.queued_local == normal && counts.queued_global == 0);
    CHECK(counts.queued_high == high && counts.queued_low == low);
    CHECK(counts.runnable == normal + high + low);
    CHECK(counts.threads_with_p == 1 && counts.threads_without_p == 0 && counts.thread_shortages == 0);
    WAIT_UNTIL(load(&done) == normal + high + low);
    CHECK_OK(run_stats(&counts));
    CHECK(counts.queued_local + counts.queued_high + counts.queued_low == 0);
    CHECK_OK(run_scheduler_stop());
}

// The main green thread computes until another one has run. That takes a retake, so the monitor has
// scanned.
static void scans_are_counted(void) {
    int done = 0;
    CHECK_OK(run_spawn(count, &done));
    while (load(&done) == 0) {}
    run_counts_t counts = RUN_COUNTS_INIT;
    CHECK_OK(run_stats(&counts));
    CHECK(counts.monitor_looks > 0);
}

static void latencies_lie_in_buckets(void) {
    uint64_t counts[RUN_LATENCY_BUCKETS + 1];
    for (size_t i = 0; i <= RUN_LATENCY_BUCKETS; ++i) counts[i] = 4711;
    int done = 0;
    for (int i = 0; i < 1000; ++i) CHECK_OK(run_spawn(count, &done));
    WAIT_UNTIL(load(&done) == 1000);
    CHECK(run_scheduling_latency(counts, RUN_LATENCY_BUCKETS + 1) == RUN_LATENCY_BUCKETS);
    CHECK(counts[RUN_LATENCY_BUCKETS] == 4711);
    uint64_t all = 0;
    for (size_t i = 0; i < RUN_LATENCY_BUCKETS; ++i) {
        all += counts[i];
        CHECK(run_latency_bucket_ns(i) < run_latency_bucket_ns(i + 1));
    }
    CHECK(all > 0);
    CHECK(run_scheduling_latency(counts, 1) == RUN_LATENCY_BUCKETS);
    CHECK(run_scheduling_latency(NULL, 0) == RUN_LATENCY_BUCKETS);
}

static void wait_in_here(void* chan) { run_chan_recv(chan, NULL); }

static void read_all(int fd, char* into, size_t size) {
    size_t used = 0;
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    for (;;) {
        const ssize_t got = read(fd, into + used, size - 1 - used);
        CHECK(got >= 0);
        if (got == 0) break;
        used += (size_t)got;
    }
    into[used] = '\0';
}

static void dump_to(char* into, size_t size) {
    FILE* file = tmpfile();
    CHECK(file != NULL);
    CHECK_OK(run_dump(fileno(file)));
    read_all(fileno(file), into, size);
    fclose(file);
}

static void a_dump_names_them_and_where_they_were_started(void) {
    static char text[65536];
    run_chan_t* chan;
    run_spawn_opts_t opts = RUN_SPAWN_OPTS_INIT;
    opts.name = "waiter";
    CHECK_OK(run_chan_make(&chan, 1, 0));
    CHECK_OK(run_spawn_with(&opts, wait_in_here, chan));
    do {
        step_aside();
        dump_to(text, sizeof(text));
    } while (strstr(text, "chan receive") == NULL);
    CHECK(strstr(text, "\"waiter\" [chan receive") != NULL);
    CHECK(strstr(text, "debug_test.c:") != NULL);
    CHECK(strstr(text, "a_dump_names_them_and_where_they_were_started") != NULL);
    CHECK(strstr(text, "entry ") != NULL);
    CHECK_OK(run_chan_close(chan));
    do {
        step_aside();
        dump_to(text, sizeof(text));
    } while (strstr(text, "\"waiter\"") != NULL);
    run_chan_release(chan);
    CHECK_STATUS(RUN_INVALID, run_dump(-1));
}

// The main green thread, parked on the stack of its OS thread, as the dump of another one shows it.
static char main_text[65536];

static void* dump_from_outside(void* argument) {
    (void)argument;
    do {
        dump_to(main_text, sizeof(main_text));
    } while (strstr(main_text, "\"main\" [chan receive") == NULL);
    return NULL;
}

struct outside {
    run_chan_t* chan;
};

static void* dump_and_close(void* argument) {
    const struct outside* o = argument;
    dump_from_outside(NULL);
    CHECK_OK(run_chan_close(o->chan));
    return NULL;
}

static void a_dump_shows_main_on_its_own_stack(void) {
    struct outside o = {NULL};
    CHECK_OK(run_chan_make(&o.chan, 1, 0));
    const pthread_t other = plain_thread(dump_and_close, &o);
    CHECK_STATUS(RUN_CLOSED, run_chan_recv(o.chan, NULL));
    join(other);
    const char* frames = strstr(main_text, "\"main\" [chan receive");
    CHECK(frames != NULL && strstr(frames, "#0") != NULL);
    CHECK(strstr(frames, "check.h:") != NULL && strstr(frames, "in_scheduler") != NULL);
    CHECK(strstr(frames, "#1") != NULL);  // run_chan_recv, this function, its caller …
    run_chan_release(o.chan);
}

static void statuses_have_texts(void) {
    for (int i = RUN_OK; i <= RUN_FAILED; ++i) {
        CHECK(strcmp(run_status_text((run_status_t)i), "unknown status") != 0);
        for (int k = 0; k < i; ++k) {
            CHECK(strcmp(run_status_text((run_status_t)i), run_status_text((run_status_t)k)) != 0);
        }
    }
    CHECK(strcmp(run_status_text((run_status_t)1234), "unknown status") == 0);
}

int main(void) {
    RUN_EVERYWHERE(counts_are_filled_in);
    if (!in_storm()) RUN_TEST(queues_and_threads_are_counted);
    in_scheduler(1, scans_are_counted);
    in_scheduler(2, latencies_lie_in_buckets);
    RUN_EVERYWHERE(a_dump_names_them_and_where_they_were_started);
    in_scheduler(1, a_dump_shows_main_on_its_own_stack);
    in_scheduler(2, a_dump_shows_main_on_its_own_stack);
    RUN_TEST(statuses_have_texts);
    return 0;
}
