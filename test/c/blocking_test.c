// blocking_test.c: declared blocking calls.
#include <errno.h>
#include <unistd.h>

#include "check.h"

// Between enter and exit the caller is a plain thread, and errno is kept.
static void a_call_is_made_as_by_a_plain_thread(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    for (int i = 0; i < 20; ++i) {
        static run_blocking_site_t site;
        char byte = 0;
        run_blocking_call_t call;
        run_blocking_enter_at(&call, &site);
        CHECK(run_g_id() == 0);
        CHECK(write(ends[1], "x", 1) == 1);
        CHECK(read(ends[0], &byte, 1) == 1);
        errno = EXDEV;
        run_blocking_exit(&call);
        CHECK(errno == EXDEV);
        CHECK(byte == 'x');
    }
    close(ends[0]);
    close(ends[1]);
}

struct fed {
    int fd;
    int written;
};

static void write_a_byte(void* argument) {
    struct fed* f = argument;
    add(&f->written, 1);
    CHECK(write(f->fd, "y", 1) == 1);
}

struct reader {
    int fd;
    char byte;
};

static void read_a_byte(void* argument) {
    struct reader* r = argument;
    CHECK(run_g_id() == 0);
    CHECK(read(r->fd, &r->byte, 1) == 1);
}

static void a_call_waits_for_what_another_does(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    static run_blocking_site_t site;
    for (int i = 0; i < 20; ++i) {
        struct fed f = {ends[1], 0};
        struct reader r = {ends[0], 0};
        CHECK_OK(run_spawn(write_a_byte, &f));
        CHECK_OK(run_blocking(&site, read_a_byte, &r));
        CHECK(r.byte == 'y' && load(&f.written) == 1);
    }
    close(ends[0]);
    close(ends[1]);
}

static void inner_enter(void* number) {
    run_blocking_call_t inner;
    run_blocking_enter(&inner);
    add(number, 1);
    run_blocking_exit(&inner);
}

static void a_call_in_a_call_is_just_made(void) {
    int number = 0;
    const uint64_t me = run_g_id();
    CHECK_OK(run_blocking(NULL, inner_enter, &number));
    CHECK(number == 1 && run_g_id() == me);
    CHECK_STATUS(RUN_INVALID, run_blocking(NULL, NULL, NULL));
}

int main(void) {
    RUN_EVERYWHERE(a_call_is_made_as_by_a_plain_thread);
    RUN_EVERYWHERE(a_call_waits_for_what_another_does);
    RUN_EVERYWHERE(a_call_in_a_call_is_just_made);
    return 0;
}
