// once_test.c: one-time initialisation.
#include "check.h"

static run_once_t for_the_program = RUN_ONCE_INIT;
static int in_the_program = 0;

static void count_slowly(void* counter) {
    for (int i = 0; i < 10; ++i) run_yield();
    add(counter, 1);
}

struct asked {
    run_once_t once;
    int calls;
    int through;
};

static void ask(void* argument) {
    struct asked* a = argument;
    CHECK_OK(run_once(&a->once, count_slowly, &a->calls));
    CHECK(load(&a->calls) == 1);
    CHECK_OK(run_once(&for_the_program, count_slowly, &in_the_program));
    CHECK(load(&in_the_program) == 1);
    add(&a->through, 1);
}

static void* ask_plainly(void* argument) {
    ask(argument);
    return NULL;
}

static void many_ask_and_it_happens_once(void) {
    struct asked a = {RUN_ONCE_INIT, 0, 0};
    for (int i = 0; i < 10; ++i) CHECK_OK(run_spawn(ask, &a));
    const pthread_t plain = plain_thread(ask_plainly, &a);
    ask(&a);
    WAIT_UNTIL(load(&a.through) == 12);
    join(plain);
}

static void nonsense_is_refused(void) {
    run_once_t once = RUN_ONCE_INIT;
    CHECK_STATUS(RUN_INVALID, run_once(NULL, count_slowly, NULL));
    CHECK_STATUS(RUN_INVALID, run_once(&once, NULL, NULL));
    int calls = 0;
    CHECK_OK(run_once(&once, count_slowly, &calls));
    CHECK(calls == 1);
}

int main(void) {
    RUN_EVERYWHERE(many_ask_and_it_happens_once);
    RUN_TEST(nonsense_is_refused);
    return 0;
}
