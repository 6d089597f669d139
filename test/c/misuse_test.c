// misuse_test.c: misuse that ends the process, and the messages.
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

// Runs f in a child process, which must abort, and searches its output for text.
static void expect_abort(void (*f)(void), const char* text) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    fflush(stdout);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[0]);
        dup2(ends[1], STDERR_FILENO);
        f();
        _exit(0);
    }
    close(ends[1]);
    static char said[65536];
    size_t used = 0;
    for (;;) {
        const ssize_t got = read(ends[0], said + used, sizeof(said) - 1 - used);
        CHECK(got >= 0);
        if (got == 0) break;
        used += (size_t)got;
    }
    said[used] = '\0';
    close(ends[0]);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strstr(said, text) == NULL) {
        fprintf(stderr, "status %d; expected \"%s\" in: %s\n", status, text, said);
    }
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(said, text) != NULL);
}

static void unlock_an_unlocked_mutex(void) {
    run_mutex_t* mutex;
    run_mutex_make(&mutex);
    run_mutex_unlock(mutex);
}

static void free_a_locked_mutex(void) {
    run_mutex_t* mutex;
    run_mutex_make(&mutex);
    run_mutex_lock(mutex);
    run_mutex_free(mutex);
}

static void finish_too_often(void) {
    run_wait_group_t* group;
    run_wait_group_make(&group);
    run_wait_group_done(group);
}

static void free_a_group_that_counts(void) {
    run_wait_group_t* group;
    run_wait_group_make(&group);
    run_wait_group_add(group, 2);
    run_wait_group_free(group);
}

static void receive(void* chan) { run_chan_recv(chan, NULL); }

static void release_a_channel_that_is_waited_on(void) {
    run_chan_t* chan;
    run_chan_make(&chan, 1, 0);
    run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
    opts.procs = 1;
    run_scheduler_init_with(&opts);
    run_spawn(receive, chan);
    run_yield();
    run_chan_release(chan);
}

static void exit_in_a_plain_thread(void) { run_g_exit(); }

static void exit_as_main(void) {
    run_scheduler_init();
    run_g_exit();
}

static void overflow(void* argument) {
    volatile char frame[4096];
    frame[0] = *(volatile char*)argument;
    if (frame[0] != 0) overflow((void*)frame);
    frame[1] = frame[0];
}

static void use_up_a_stack(void) {
    char first = 1;
    run_scheduler_init();
    run_spawn_opts_t opts = RUN_SPAWN_OPTS_INIT;
    opts.name = "deep";
    run_spawn_with(&opts, overflow, &first);
    for (;;) run_yield();
}

static void use_up_the_stack_of_main(void) {
    char first = 1;
    struct rlimit limit = {4 << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &limit);
    run_scheduler_init();
    overflow(&first);
}

// The main green thread of a scheduler, on a stack that the C library has made.
static void* be_main_and_use_up_the_stack(void* argument) {
    run_scheduler_init();
    overflow(argument);
    return NULL;
}

static void use_up_the_stack_of_a_thread(void) {
    char first = 1;
    pthread_t thread;
    pthread_create(&thread, NULL, be_main_and_use_up_the_stack, &first);
    pthread_join(thread, NULL);
}

int main(void) {
    expect_abort(unlock_an_unlocked_mutex, "weft: fatal: unlock of an unlocked weft::mutex");
    expect_abort(free_a_locked_mutex, "weft: fatal: a weft::mutex was destroyed while it was locked");
    expect_abort(finish_too_often, "weft: fatal: negative weft::wait_group count");
    expect_abort(free_a_group_that_counts, "weft: fatal: a weft::wait_group was destroyed while its count was 2");
    expect_abort(release_a_channel_that_is_waited_on,
                 "weft: fatal: the last handle of a weft::chan was destroyed while");
    expect_abort(exit_in_a_plain_thread, "in a plain thread");
    expect_abort(exit_as_main, "weft: fatal: run_g_exit() was called");
#if !defined(WEFT_TEST_EMULATED)  // the emulator loses faults in the child of a fork
    expect_abort(use_up_a_stack, "weft: fatal: stack overflow in green thread 2 \"deep\"");
    expect_abort(use_up_the_stack_of_main, "weft: fatal: stack overflow in green thread 1 \"main\"");
    expect_abort(use_up_the_stack_of_main,
                 "use a larger limit for the OS thread (ulimit -s), or another green thread for deep calls");
    expect_abort(use_up_the_stack_of_a_thread, "weft: fatal: stack overflow in green thread 1 \"main\"");
#endif
    return 0;
}
