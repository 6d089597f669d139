// memory_test.c: pages, stacks, and contexts that run on them.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void pages_are_reserved_committed_protected_and_released(void) {
    const size_t page = run_vmem_page_size();
    void* address = NULL;
    CHECK(page >= 4096 && (page & (page - 1)) == 0);
    CHECK_OK(run_vmem_reserve(&address, 64 * page));
    char* bytes = address;
    CHECK_OK(run_vmem_commit(bytes + 2 * page, 3));  // rounded up
    CHECK(bytes[2 * page] == 0 && bytes[3 * page - 1] == 0);
    bytes[2 * page] = 'x';
    CHECK_OK(run_vmem_protect(bytes + 2 * page, page, RUN_VMEM_READ));
    CHECK(bytes[2 * page] == 'x');
    CHECK_OK(run_vmem_protect(bytes + 2 * page, page, RUN_VMEM_NONE));
    CHECK_OK(run_vmem_protect(bytes + 2 * page, page, RUN_VMEM_READWRITE));
    CHECK(bytes[2 * page] == 'x');
    bytes[2 * page] = 'y';
    CHECK_OK(run_vmem_release(bytes, 8 * page));  // a part
    CHECK_OK(run_vmem_release(bytes + 8 * page, 56 * page));
    bytes = run_vmem_alloc(10 * page);
    CHECK(bytes != NULL && bytes[0] == 0);
    bytes[10 * page - 1] = 1;
    run_vmem_free(bytes, 10 * page);
}

static void nonsense_is_refused(void) {
    const size_t page = run_vmem_page_size();
    void* address = NULL;
    CHECK_STATUS(RUN_INVALID, run_vmem_reserve(NULL, page));
    CHECK_STATUS(RUN_INVALID, run_vmem_reserve(&address, 0));
    CHECK_STATUS(RUN_INVALID, run_vmem_reserve(&address, SIZE_MAX));
    CHECK_STATUS(RUN_EXHAUSTED, run_vmem_reserve(&address, SIZE_MAX / 4));
    CHECK(run_vmem_alloc(SIZE_MAX / 4) == NULL);
    CHECK_STATUS(RUN_INVALID, run_vmem_commit(NULL, page));
    CHECK_STATUS(RUN_INVALID, run_vmem_protect(NULL, page, RUN_VMEM_READ));
    CHECK_STATUS(RUN_INVALID, run_vmem_release(NULL, page));
    CHECK_OK(run_vmem_reserve(&address, page));
    CHECK_STATUS(RUN_INVALID, run_vmem_commit((char*)address + 1, 1));
    CHECK_STATUS(RUN_INVALID, run_vmem_commit(address, 0));
    CHECK_STATUS(RUN_INVALID, run_vmem_protect(address, page, (run_vmem_access_t)9));
    CHECK_OK(run_vmem_release(address, page));
}

// Whether reading at address ends a process.
static bool faults(const volatile char* address) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        _exit(*address == 1 ? 1 : 0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void a_stack_has_a_guard(void) {
    char* stack = run_stack_alloc();
    CHECK(stack != NULL);
    stack[RUN_STACK_SIZE - 1] = 0;
    stack[RUN_GUARD_SIZE] = 0;
    CHECK(!faults(stack + RUN_GUARD_SIZE));
    CHECK(faults(stack));
    CHECK(faults(stack + RUN_GUARD_SIZE - 1));
    run_stack_free(stack);
    run_stack_free(NULL);
    CHECK(RUN_STACK_SIZE == 65536 && RUN_STACK_INITIAL == 8192 && RUN_MAX_M_COUNT == 10000);
}

// ---- Contexts: a generator.

struct generator {
    run_context_t consumer;
    run_context_t producer;
    int value;
};

static void produce(void* argument, void* baton) {
    struct generator* g = argument;
    CHECK(baton == (void*)g);
    for (g->value = 1;; ++g->value) {
        baton = run_context_switch(&g->producer, &g->consumer, NULL);
        CHECK(baton == (void*)g);
    }
}

static void contexts_switch(void) {
    struct generator g;
    char* stack = run_stack_alloc();
    CHECK(stack != NULL);
    run_context_init(&g.producer, stack + RUN_STACK_SIZE, produce, &g);
    for (int i = 1; i <= 1000; ++i) {
        CHECK(run_context_switch(&g.consumer, &g.producer, &g) == NULL);
        CHECK(g.value == i);
    }
    run_stack_free(stack);
}

// ---- An entry function that returns ends its green thread.

struct ending {
    run_context_t here;
    run_context_t there;
    char* stack;
    int reached;
};

static void return_from_it(void* argument, void* baton) {
    (void)baton;
    struct ending* e = argument;
    store(&e->reached, 1);
}

static void go_there_for_good(void* argument) {
    struct ending* e = argument;
    run_context_init(&e->there, e->stack + RUN_STACK_SIZE, return_from_it, e);
    run_context_switch(&e->here, &e->there, NULL);
    CHECK_NEVER("it came back");
}

static void an_entry_that_returns_ends_the_green_thread(void) {
    struct ending e;
    run_wait_group_t* group;
    e.stack = run_stack_alloc();
    e.reached = 0;
    CHECK(e.stack != NULL);
    CHECK_OK(run_wait_group_make(&group));
    CHECK_OK(run_wait_group_go(group, go_there_for_good, &e));
    CHECK_OK(run_wait_group_wait(group));
    CHECK(load(&e.reached) == 1);
    run_wait_group_free(group);
    // The processor has left that stack once it runs something else.
    int done = 0;
    while (done++ < 100) step_aside();
}

int main(void) {
    RUN_TEST(pages_are_reserved_committed_protected_and_released);
    RUN_TEST(nonsense_is_refused);
    RUN_TEST(a_stack_has_a_guard);
    RUN_TEST(contexts_switch);
    RUN_EVERYWHERE(an_entry_that_returns_ends_the_green_thread);
    return 0;
}
