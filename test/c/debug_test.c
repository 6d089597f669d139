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
    // An older program knows less; what it does not know is not touched.
    run_counts_t fewer = RUN_COUNTS_INIT;
    fewer.size = offsetof(run_counts_t, threads);
    fewer.threads = 4711;
    CHECK_OK(run_stats(&fewer));
    CHECK(fewer.procs == counts.procs && fewer.threads == 4711);
    fewer.size = 0;
    CHECK_STATUS(RUN_INVALID, run_stats(&fewer));
    CHECK_STATUS(RUN_INVALID, run_stats(NULL));
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

// The main green thread, parked on the stack of its thread, as another one sees it.
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
    CHECK(strstr(frames, "#2") != NULL);  // run_chan_recv, this function, who called it …
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
    RUN_EVERYWHERE(a_dump_names_them_and_where_they_were_started);
    in_scheduler(1, a_dump_shows_main_on_its_own_stack);
    in_scheduler(2, a_dump_shows_main_on_its_own_stack);
    RUN_TEST(statuses_have_texts);
    return 0;
}
