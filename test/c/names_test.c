// names_test.c: snippets with the names of the GMP design, written from that document alone:
// docs/c_api.md#names.
//
// Accessors inspect what the design leaves to the scheduler's own code (queues, lists, the loop).
// Where a function differs from the design's, the snippet uses it as it is in this library.
#include <unistd.h>

#include "check.h"

// ---- Data structures

static void the_status_of_a_g_has_the_names_of_the_design(void) {
    const run_g_status_t all[] = {G_IDLE, G_RUNNABLE, G_RUNNING, G_WAITING, G_DEAD};
    for (int i = 0; i < 5; ++i) CHECK((int)all[i] == i);
    CHECK(G_WAITING == RUN_G_WAITING);
}

static void the_status_of_a_p_has_the_names_of_the_design(void) {
    const run_p_status_t all[] = {P_IDLE, P_RUNNING, P_SYSCALL};
    for (int i = 0; i < 3; ++i) CHECK((int)all[i] == i);
    CHECK(P_SYSCALL == RUN_P_SYSCALL);
}

static void the_caller_is_a_g(void) {
    run_g_t* g = run_current_g();
    if (run_g_id() == 0) {  // a plain thread
        CHECK(g == NULL && run_current_m() == NULL && run_current_p() == NULL);
        return;
    }
    CHECK(g != NULL);
    CHECK(run_g_get_id(g) == run_g_id());
    CHECK(run_g_get_status(g) == G_RUNNING);
}

struct worker {
    run_g_t* g;
    run_chan_t* gate;
    int state;  // 1: waits or is about to; 2: ends
};

static void wait_at_the_gate(void* arg) {
    struct worker* w = arg;
    w->g = run_current_g();
    store(&w->state, 1);
    CHECK(run_chan_recv(w->gate, NULL) == RUN_OK);
    store(&w->state, 2);
}

static void a_g_that_waits_is_waiting_and_one_that_has_ended_is_dead(void) {
    struct worker w = {NULL, NULL, 0};
    CHECK_OK(run_chan_make(&w.gate, 0, 0));
    CHECK_OK(run_spawn(wait_at_the_gate, &w));
    WAIT_UNTIL(load(&w.state) == 1 && run_g_get_status(w.g) == G_WAITING);
    const uint64_t id = run_g_get_id(w.g);
    CHECK(id > 0 && w.g != run_current_g());
    CHECK(run_g_get_stack_base(w.g) == NULL && run_g_get_stack_size(w.g) == 0 && !run_g_get_preempt(w.g));
    CHECK(run_g_get_last_p(w.g) != NULL);
    CHECK_OK(run_chan_send(w.gate, NULL));
    WAIT_UNTIL(load(&w.state) == 2);
    WAIT_UNTIL(run_g_get_status(w.g) == G_DEAD || run_g_get_status(w.g) == G_IDLE || run_g_get_id(w.g) != id);
    run_chan_release(w.gate);
}

static void yield_until_told(void* arg) {
    struct worker* w = arg;
    w->g = run_current_g();
    while (load(&w->state) != 2) {
        store(&w->state, 1);
        run_yield();
    }
    store(&w->state, 3);
}

static void with_one_p_a_g_that_has_yielded_is_runnable(void) {
    struct worker w = {NULL, NULL, 0};
    CHECK_OK(run_spawn(yield_until_told, &w));
    WAIT_UNTIL(load(&w.state) == 1);
    if (!in_storm()) CHECK(run_g_get_status(w.g) == G_RUNNABLE);
    store(&w.state, 2);
    WAIT_UNTIL(load(&w.state) == 3);
}

static void a_g_knows_its_stack(void) {
    const run_g_t* g = run_current_g();
    const char here = 0;
    const char* base = run_g_get_stack_base(g);
    CHECK(base != NULL);
    CHECK(&here >= base && &here < base + run_g_get_stack_size(g));
    CHECK(run_stack_left() <= run_g_get_stack_size(g));
}

static void look_at_the_stack(void* done) {
    a_g_knows_its_stack();
    CHECK(run_g_get_stack_size(run_current_g()) >= run_stack_max_size() / 2);
    store(done, 1);
}

static void so_does_one_that_was_spawned(void) {
    int done = 0;
    CHECK_OK(run_spawn(look_at_the_stack, &done));
    WAIT_UNTIL(load(&done) == 1);
}

static void the_m_runs_the_current_g(void) {
    if (in_storm()) return;
    const run_m_t* m = run_current_m();
    CHECK(run_m_get_id(m) == 0);                         // M0
    CHECK(run_m_get_thread_id(m) == (int64_t)getpid());  // the process's first thread
    CHECK(run_m_get_current_g(m) == run_current_g());
    CHECK(run_m_get_current_p(m) == run_current_p());
}

static void the_p_is_bound_to_the_m(void) {
    if (in_storm()) return;
    const run_p_t* p = run_current_p();
    CHECK(run_p_get_id(p) == 0);
    CHECK(run_p_get_status(p) == P_RUNNING);
    CHECK(run_p_get_bound_m(p) == run_current_m());
    CHECK(run_g_get_last_p(run_current_g()) == p);
}

static void what_is_not_there_reads_as_nothing(void) {
    int not_an_m = 0;
    const run_m_t* m = (const run_m_t*)(const void*)&not_an_m;
    CHECK(run_m_get_id(m) == UINT64_MAX && run_m_get_thread_id(m) == 0);
    CHECK(run_m_get_current_g(m) == NULL && run_m_get_current_p(m) == NULL);
    CHECK(run_m_get_id(NULL) == UINT64_MAX && run_m_get_thread_id(NULL) == 0);
    CHECK(run_m_get_current_g(NULL) == NULL && run_m_get_current_p(NULL) == NULL);
    CHECK(run_p_get_id(NULL) == UINT32_MAX && run_p_get_status(NULL) == P_IDLE);
    CHECK(run_p_get_run_queue_len(NULL) == 0 && run_p_get_bound_m(NULL) == NULL);
    CHECK(run_g_get_id(NULL) == 0 && run_g_get_status(NULL) == G_DEAD && run_g_get_last_p(NULL) == NULL);
    CHECK(run_g_get_stack_base(NULL) == NULL && run_g_get_stack_size(NULL) == 0 && !run_g_get_preempt(NULL));
}

// ---- Global state

static void all_ps_can_be_walked(void) {
    const unsigned num_ps = run_procs();
    CHECK(num_ps <= RUN_MAX_P_COUNT);
    unsigned running = 0;
    for (unsigned i = 0; i < num_ps; ++i) {
        const run_p_t* p = run_p_at(i);
        CHECK(p != NULL && run_p_get_id(p) == i);
        running += run_p_get_status(p) == P_RUNNING;
    }
    CHECK(run_p_at(num_ps) == NULL && run_p_at(RUN_MAX_P_COUNT) == NULL && run_p_at(UINT32_MAX) == NULL);
    if (run_current_g() != NULL && !in_storm()) CHECK(running >= 1);
    CHECK(RUN_MAX_M_COUNT == 10000);
}

// ---- Initialization

static void maxprocs_comes_from_the_environment(void) {
    CHECK(setenv("RUN_MAXPROCS", "3", 1) == 0);
    CHECK_OK(run_scheduler_init());
    CHECK(run_procs() == 3);
    CHECK_OK(run_scheduler_stop());
    CHECK(unsetenv("RUN_MAXPROCS") == 0);
}

// ---- Spawning

static void count(void* counter) { add(counter, 1); }

static void what_is_spawned_is_queued_on_the_current_p(void) {
    int done = 0;
    const run_p_t* p = run_current_p();
    for (int i = 0; i < 10; ++i) CHECK_OK(run_spawn(count, &done));
    if (!in_storm()) CHECK(run_p_get_run_queue_len(p) == 10);
    WAIT_UNTIL(load(&done) == 10);
}

// ---- Context switching

struct generator {
    run_context_t caller;
    run_context_t self;
    int next;
};

static void generate(void* arg, void* baton) {
    struct generator* g = arg;
    (void)baton;
    for (g->next = 1;; g->next *= 2) run_context_switch(&g->self, &g->caller, NULL);
}

static void contexts_are_made_and_switched_to(void) {
    struct generator g;
    char* stack = run_stack_alloc();
    CHECK(stack != NULL);
    run_context_init(&g.self, stack + RUN_STACK_SIZE, generate, &g);
    for (int expected = 1; expected <= 1024; expected *= 2) {
        run_context_switch(&g.caller, &g.self, NULL);
        CHECK(g.next == expected);
    }
    run_stack_free(stack);
}

static void exit_at_once(void* arg) {
    add(arg, 1);
    run_g_exit();
}

static void a_g_can_exit_anywhere(void) {
    int reached = 0;
    CHECK_OK(run_spawn(exit_at_once, &reached));
    WAIT_UNTIL(load(&reached) == 1);
}

// ---- Preemption: the check that the design's compiler puts at the start of every function.

static void prologue(void) {
    if (__builtin_expect(run_g_get_preempt(run_current_g()), 0)) {
        run_yield();
    }
}

static void a_g_that_checks_in_its_prologues_lets_others_run(void) {
    int done = 0;
    CHECK_OK(run_spawn(count, &done));
    while (load(&done) == 0) prologue();
}

// ---- System calls

struct call {
    int fds[2];
    int read;
};

static void read_a_byte(void* arg) {
    struct call* c = arg;
    char byte;
    run_blocking_call_t syscall;
    run_blocking_enter(&syscall);
    const ssize_t n = read(c->fds[0], &byte, 1);
    run_blocking_exit(&syscall);
    store(&c->read, (int)n);
}

static bool some_p_is_in_a_syscall(void) {
    for (unsigned i = 0; i < run_procs(); ++i) {
        if (run_p_get_status(run_p_at(i)) == P_SYSCALL) return true;
    }
    return false;
}

static void a_p_whose_m_is_in_a_call_says_so_until_others_take_it(void) {
    struct call c = {{0, 0}, 0};
    CHECK(pipe(c.fds) == 0);
    CHECK_OK(run_spawn(read_a_byte, &c));
    bool seen = false;
    for (int64_t end = run_now_ns() + 20 * 1000000; run_now_ns() < end && !seen; step_aside())
        seen = some_p_is_in_a_syscall();
    // The only P was handed off: otherwise this code would not run.
    if (run_procs() == 1) CHECK(!seen);
    CHECK(write(c.fds[1], "x", 1) == 1);
    WAIT_UNTIL(load(&c.read) == 1);
    close(c.fds[0]);
    close(c.fds[1]);
}

// ---- Stacks

static void* stack_alloc_fixed(void) {
    void* mem = run_vmem_alloc(RUN_STACK_SIZE);
    // The bottom page is a guard.
    run_vmem_protect(mem, RUN_GUARD_SIZE, RUN_VMEM_NONE);
    return mem;
}

static void stack_free_fixed(void* stack) { run_vmem_free(stack, RUN_STACK_SIZE); }

static void fixed_stacks_are_allocated_as_in_phase_1(void) {
    char* stack = stack_alloc_fixed();
    CHECK(stack != NULL);
    stack[RUN_STACK_SIZE - 1] = 1;
    stack[RUN_GUARD_SIZE] = 1;
    stack_free_fixed(stack);
}

static void* stack_alloc_growable(void) {
    const size_t max = run_stack_max_size();
    void* mem = run_vmem_alloc_reserve(max);
    if (mem == NULL) return NULL;
    // Commit the top.
    void* commit_start = (char*)mem + max - RUN_STACK_INITIAL;
    run_vmem_protect(commit_start, RUN_STACK_INITIAL, RUN_VMEM_READWRITE);
    return mem;
}

static void growable_stacks_are_reserved_as_in_phase_2(void) {
    char* stack = stack_alloc_growable();
    CHECK(stack != NULL);
    const size_t max = run_stack_max_size();
    CHECK(stack[max - RUN_STACK_INITIAL] == 0);
    stack[max - 1] = 1;
    run_vmem_free(stack, max);
    CHECK(run_vmem_alloc_reserve(0) == NULL && run_vmem_alloc_reserve(SIZE_MAX / 4) == NULL);
}

static void stacks_are_as_large_as_the_environment_says(void) {
    if (getenv("RUN_STACK_MAX") == NULL && getenv("RUN_STACK_POLICY") == NULL) {
        CHECK(run_stack_max_size() == RUN_STACK_MAX);
    }
    CHECK(setenv("RUN_STACK_MAX", "1M", 1) == 0);  // the size in the design
    CHECK(run_stack_max_size() == 1024 * 1024);
    CHECK_OK(run_scheduler_init());
    CHECK(run_stack_max_size() == 1024 * 1024);
    so_does_one_that_was_spawned();
    CHECK(unsetenv("RUN_STACK_MAX") == 0);
    CHECK(run_stack_max_size() == 1024 * 1024);  // it was read at the start
    CHECK_OK(run_scheduler_stop());
}

// ---- Phase 1, complete: one P, one M, N Gs, a channel.

static void produce(void* chan) {
    for (int i = 1; i <= 100; ++i) CHECK_OK(run_chan_send(chan, &i));
    CHECK_OK(run_chan_close(chan));
}

static void channels_park_the_g_and_schedule_the_next(void) {
    run_chan_t* chan;
    int sum = 0;
    int i = 0;
    CHECK_OK(run_chan_make(&chan, sizeof(int), 0));
    CHECK_OK(run_spawn(produce, chan));
    while (run_chan_recv(chan, &i) == RUN_OK) sum += i;
    CHECK(sum == 5050);
    run_chan_release(chan);
}

int main(void) {
    // Before there is a scheduler.
    RUN_TEST(stacks_are_as_large_as_the_environment_says);
    RUN_TEST(maxprocs_comes_from_the_environment);
    RUN_TEST(the_status_of_a_g_has_the_names_of_the_design);
    RUN_TEST(the_status_of_a_p_has_the_names_of_the_design);
    RUN_TEST(contexts_are_made_and_switched_to);
    RUN_TEST(fixed_stacks_are_allocated_as_in_phase_1);
    RUN_TEST(growable_stacks_are_reserved_as_in_phase_2);
    CHECK(run_p_at(0) == NULL);

    // Right after run_scheduler_init: M0 has P 0.
    in_scheduler(1, the_m_runs_the_current_g);
    in_scheduler(4, the_p_is_bound_to_the_m);
    in_scheduler(4, a_g_knows_its_stack);
    in_scheduler(1, with_one_p_a_g_that_has_yielded_is_runnable);
    in_scheduler(1, what_is_spawned_is_queued_on_the_current_p);
    in_scheduler(1, a_g_that_checks_in_its_prologues_lets_others_run);

    RUN_EVERYWHERE(the_caller_is_a_g);
    RUN_EVERYWHERE(a_g_that_waits_is_waiting_and_one_that_has_ended_is_dead);
    RUN_EVERYWHERE(so_does_one_that_was_spawned);
    RUN_EVERYWHERE(what_is_not_there_reads_as_nothing);
    RUN_EVERYWHERE(all_ps_can_be_walked);
    RUN_EVERYWHERE(a_g_can_exit_anywhere);
    RUN_EVERYWHERE(a_p_whose_m_is_in_a_call_says_so_until_others_take_it);
    RUN_EVERYWHERE(channels_park_the_g_and_schedule_the_next);
    return 0;
}
