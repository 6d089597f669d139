// check.h: checks that end the program, and the threads in which a test runs.
//
// A test is a function without arguments. RUN_TEST runs it once. RUN_EVERYWHERE runs it in a plain
// thread, and as the main green thread of schedulers with 1, 2 and 4 processors.
#ifndef WEFT_TEST_C_CHECK_H
#define WEFT_TEST_C_CHECK_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/run.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_SIGNALS 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define NO_SIGNALS 1
#endif
#ifndef NO_SIGNALS
#define NO_SIGNALS 0  // ThreadSanitizer delivers them too late
#endif

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) check_failed(__FILE__, __LINE__, __func__, #condition, "false"); \
    } while (0)

#define CHECK_STATUS(expected, call)                                                                      \
    do {                                                                                                  \
        const run_status_t got_ = (call);                                                                 \
        if (got_ != (expected)) check_failed(__FILE__, __LINE__, __func__, #call, run_status_text(got_)); \
    } while (0)

#define CHECK_OK(call) CHECK_STATUS(RUN_OK, call)

#define CHECK_NEVER(what) check_failed(__FILE__, __LINE__, __func__, what, "what has happened")

static void check_failed(const char* file, int line, const char* function, const char* what, const char* is) {
    fprintf(stderr, "%s:%d: %s: %s is: %s\n", file, line, function, what, is);
    fflush(stderr);
    abort();
}

// Yields: to other green threads if called by one, otherwise to other OS threads.
static inline void step_aside(void) {
    if (run_g_id() == 0 || !run_yield()) sched_yield();
}

#define WAIT_UNTIL(condition) \
    while (!(condition)) step_aside()

// The current pthread_self(). The C library declares that it never changes, but a green thread may
// have moved to another OS thread.
static __attribute__((noinline, unused)) pthread_t thread_now(void) {
    __asm__ volatile("" ::: "memory");
    return pthread_self();
}

// With RUN_DEBUG=retake=always processors are retaken all the time.
static inline bool in_storm(void) {
    const char* debug = getenv("RUN_DEBUG");
    return debug != NULL && strstr(debug, "retake=always") != NULL;
}

// A counter that several threads share.
static inline int load(const int* counter) { return __atomic_load_n(counter, __ATOMIC_ACQUIRE); }

static inline void store(int* counter, int value) { __atomic_store_n(counter, value, __ATOMIC_RELEASE); }

static inline int add(int* counter, int n) { return __atomic_add_fetch(counter, n, __ATOMIC_ACQ_REL); }

#define RUN_TEST(test)         \
    do {                       \
        printf("%s\n", #test); \
        fflush(stdout);        \
        test();                \
    } while (0)

static inline void in_scheduler(unsigned procs, void (*test)(void)) {
    run_scheduler_opts_t opts = RUN_SCHEDULER_OPTS_INIT;
    opts.procs = procs;
    CHECK_OK(run_scheduler_init_with(&opts));
    CHECK(run_procs() == procs);
    test();
    CHECK_OK(run_scheduler_stop());
}

static inline void everywhere(void (*test)(void)) {
    in_scheduler(1, test);
    in_scheduler(2, test);
    in_scheduler(4, test);
    test();
}

#define RUN_EVERYWHERE(test)   \
    do {                       \
        printf("%s\n", #test); \
        fflush(stdout);        \
        everywhere(test);      \
    } while (0)

// Starts a plain thread that runs fn(arg). The caller must join it.
static inline pthread_t plain_thread(void* (*fn)(void*), void* arg) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fn, arg) == 0);
    return thread;
}

static inline void join(pthread_t thread) { CHECK(pthread_join(thread, NULL) == 0); }

#endif
