// weft_names_test.c: the C interface with the names weft_… and WEFT_…, and both kinds in one
// program.
#include <weft/c.h>

#include "check.h"

static void square(void* number) {
    int* n = number;
    *n *= *n;
}

static void work_is_done_by_either_name(void) {
    weft_wait_group_t* group = NULL;
    CHECK_OK(weft_wait_group_make(&group));
    int numbers[] = {1, 2, 3, 4};
    for (int i = 0; i < 4; ++i) CHECK_OK(weft_wait_group_go(group, square, &numbers[i]));
    CHECK(run_wait_group_wait(group) == WEFT_OK);
    CHECK(numbers[3] == 16);
    weft_wait_group_free(group);
}

static void a_channel_has_both_kinds_of_names(void) {
    weft_chan_t* c = NULL;
    CHECK_OK(weft_chan_make(&c, sizeof(int), 1));
    run_chan_t* same = c;
    const int sent = 7;
    int got = 0;
    CHECK_OK(weft_chan_send(c, &sent));
    CHECK_OK(run_chan_recv(same, &got));
    CHECK(got == 7);
    CHECK(weft_chan_try_recv(c, &got) == WEFT_WOULD_BLOCK);
    weft_chan_release(c);
}

static void options_and_constants_are_the_same(void) {
    const weft_spawn_opts_t options = WEFT_SPAWN_OPTS_INIT;
    CHECK(options.priority == RUN_PRIORITY_NORMAL);
    CHECK(WEFT_PRIORITY_HIGH == RUN_PRIORITY_HIGH);
    CHECK(WEFT_READABLE == RUN_READABLE);
    CHECK(weft_g_id() == run_g_id());
}

int main(void) {
    RUN_EVERYWHERE(work_is_done_by_either_name);
    RUN_EVERYWHERE(a_channel_has_both_kinds_of_names);
    RUN_EVERYWHERE(options_and_constants_are_the_same);
    return 0;
}
