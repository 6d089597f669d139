// max_procs_test.c: run_set_max_procs: the number of processors changes while green threads run.
#include "check.h"

static void it_returns_when_it_is_so(void) {
    const unsigned at_first = run_procs();
    unsigned before = 0;
    CHECK_OK(run_set_max_procs(3, &before));
    CHECK(before == at_first);
    CHECK(run_procs() == 3);
    CHECK_OK(run_set_max_procs(1, &before));
    CHECK(before == 3);
    CHECK(run_procs() == 1);
    CHECK_OK(run_set_max_procs(at_first, NULL));
    CHECK(run_procs() == at_first);
}

static void too_many_are_refused(void) {
    const unsigned at_first = run_procs();
    unsigned before = 12345;
    CHECK_STATUS(RUN_INVALID, run_set_max_procs(RUN_MAX_P_COUNT + 1, &before));
    CHECK(before == 12345);
    CHECK(run_procs() == at_first);
}

static void none_is_the_usual_number(void) {
    const unsigned at_first = run_procs();
    CHECK_OK(run_set_max_procs(0, NULL));
    CHECK(run_procs() >= 1);
    CHECK_OK(run_set_max_procs(at_first, NULL));
}

// ---- Nothing is lost during the change.

enum { messages = 2000 };

struct relay {
    run_chan_t* chan;
    int over;
};

static void send_all(void* argument) {
    struct relay* r = argument;
    for (int i = 1; i <= messages; ++i) CHECK_OK(run_chan_send(r->chan, &i));
    CHECK_OK(run_chan_close(r->chan));
}

static void change(void* argument) {
    struct relay* r = argument;
    for (unsigned n = 1; load(&r->over) == 0; n = n % 4 + 1) CHECK_OK(run_set_max_procs(n, NULL));
}

static void messages_survive_changes(void) {
    const unsigned at_first = run_procs();
    struct relay r = {NULL, 0};
    CHECK_OK(run_chan_make(&r.chan, sizeof(int), 4));
    run_wait_group_t* group;
    CHECK_OK(run_wait_group_make(&group));
    CHECK_OK(run_wait_group_go(group, change, &r));
    CHECK_OK(run_wait_group_go(group, send_all, &r));
    int value;
    int sum = 0;
    while (run_chan_recv(r.chan, &value) == RUN_OK) sum += value;
    store(&r.over, 1);
    CHECK_OK(run_wait_group_wait(group));
    CHECK(sum == messages * (messages + 1) / 2);
    run_wait_group_free(group);
    run_chan_release(r.chan);
    CHECK_OK(run_set_max_procs(at_first, NULL));
}

// The calls of a plain thread refer to the default scheduler, and start it if necessary.
static void a_plain_thread_has_the_default_one(void) {
    CHECK(run_procs() == 0);
    CHECK_OK(run_set_max_procs(3, NULL));
    CHECK(run_procs() == 3);
}

int main(void) {
    RUN_TEST(a_plain_thread_has_the_default_one);
    RUN_EVERYWHERE(it_returns_when_it_is_so);
    RUN_EVERYWHERE(too_many_are_refused);
    RUN_EVERYWHERE(none_is_the_usual_number);
    RUN_EVERYWHERE(messages_survive_changes);
    return 0;
}
