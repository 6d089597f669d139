// time_test.c: sleeping and timers.
#include "check.h"

static const int64_t ms = 1000000;

static void sleeping_takes_as_long_as_asked(void) {
    const int64_t begun = run_now_ns();
    CHECK_OK(run_sleep_ns(2 * ms));
    CHECK(run_now_ns() - begun >= 2 * ms);
    CHECK_OK(run_sleep_ns(0));
    CHECK_OK(run_sleep_ns(-ms));
    const int64_t then = run_now_ns() + ms;
    CHECK_OK(run_sleep_until_ns(then));
    CHECK(run_now_ns() >= then);
    CHECK_OK(run_sleep_until_ns(0));
}

static void sleep_a_little(void* left) {
    CHECK_OK(run_sleep_ns(ms));
    add(left, -1);
}

static void many_sleep_at_once(void) {
    int left = 500;
    for (int i = 0; i < 500; ++i) CHECK_OK(run_spawn(sleep_a_little, &left));
    while (load(&left) != 0) CHECK_OK(run_sleep_ns(ms));
}

int main(void) {
    RUN_EVERYWHERE(sleeping_takes_as_long_as_asked);
    RUN_EVERYWHERE(many_sleep_at_once);
    return 0;
}
