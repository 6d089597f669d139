// big_stack_test.c: calls with more stack, and how much of their stacks green threads have used.
#include <string.h>

#include "check.h"

struct visit {
    size_t left;
    int count;
};

static void look(void* argument) {
    struct visit* v = argument;
    char block[500 * 1024];
    memset(block, 1, sizeof(block));
    step_aside();
    v->left = run_stack_left();
    v->count += block[sizeof(block) - 1];
}

static void go_deep(void* argument) {
    CHECK_OK(run_on_big_stack(look, argument, 0));
    CHECK_OK(run_on_big_stack(look, argument, (size_t)8 << 20));
}

static void runs_where_there_is_room(void) {
    struct visit v = {0, 0};
    CHECK_OK(run_on_big_stack(look, &v, RUN_BIG_STACK_SIZE));
    CHECK(v.count == 1);
    go_deep(&v);
    CHECK(v.count == 3);
    CHECK(run_g_id() == 0 || v.left > ((size_t)7 << 20));
}

static void misuse_is_a_status(void) {
    struct visit v = {0, 0};
    CHECK_STATUS(RUN_INVALID, run_on_big_stack(NULL, &v, 0));
    CHECK_STATUS(RUN_INVALID, run_on_big_stack(look, &v, ((size_t)64 << 20) + 1));
    CHECK(v.count == 0);
}

static void wait_in_here(void* chan) { run_chan_recv(chan, NULL); }

static void stack_use_is_known_by_place(void) {
    run_chan_t* chan;
    CHECK_OK(run_chan_make(&chan, sizeof(int), 0));
    CHECK_OK(run_spawn(wait_in_here, chan));
    int line = __LINE__ - 1;
    run_stack_use_at_t places[8];
    bool found = false;
    while (!found) {
        step_aside();
        const size_t n = run_stack_use(places, 8);
        for (size_t i = 0; i < n && i < 8; ++i) {
            found = found || (places[i].line == line && strstr(places[i].file, "big_stack_test.c") != NULL &&
                              places[i].waiting > 0 && places[i].touched >= places[i].waiting);
        }
    }
    CHECK(run_stack_use(NULL, 0) >= 1);
    run_chan_close(chan);
    run_chan_release(chan);
}

static void a_policy_that_is_none_is_refused(void) {
    run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
    opts.stacks = (run_stack_policy_t)17;
    CHECK_STATUS(RUN_INVALID, run_scheduler_init_with(&opts));
}

int main(void) {
    RUN_EVERYWHERE(runs_where_there_is_room);
    in_scheduler(1, misuse_is_a_status);
    in_scheduler(2, misuse_is_a_status);
    in_scheduler(2, stack_use_is_known_by_place);
    RUN_TEST(a_policy_that_is_none_is_refused);
    return 0;
}
