// select_test.c: run_select.
#include "check.h"

static run_chan_t* make(size_t elem_size, size_t capacity) {
    run_chan_t* c;
    CHECK_OK(run_chan_make(&c, elem_size, capacity));
    return c;
}

static void nothing_is_ready(void) {
    run_chan_t* c = make(sizeof(int), 0);
    int x = 1;
    run_select_case_t cases[] = {run_recv_case(c, &x), run_send_case(c, &x), run_recv_case(NULL, &x)};
    size_t chosen = 99;
    CHECK_STATUS(RUN_WOULD_BLOCK, run_select(cases, 3, 0, &chosen));
    CHECK(chosen == 3);
    CHECK_STATUS(RUN_TIMEOUT, run_select(cases, 3, 1000000, &chosen));
    CHECK(chosen == 3);
    CHECK_STATUS(RUN_WOULD_BLOCK, run_select(NULL, 0, -5, &chosen));
    CHECK_STATUS(RUN_TIMEOUT, run_select(NULL, 0, 1000000, NULL));
    run_chan_release(c);
}

static void what_is_ready_happens(void) {
    run_chan_t* full = make(sizeof(int), 1);
    run_chan_t* empty = make(sizeof(int), 1);
    int x = 3;
    int y = 4;
    size_t chosen;
    CHECK_OK(run_chan_send(full, &x));
    run_select_case_t cases[] = {run_recv_case(empty, &x), run_send_case(full, &x), run_recv_case(full, &y)};
    CHECK_OK(run_select(cases, 3, RUN_FOREVER, &chosen));
    CHECK(chosen == 2 && cases[2].status == RUN_OK && y == 3);
    CHECK_OK(run_select(cases, 3, RUN_FOREVER, &chosen));
    CHECK(chosen == 1 && cases[1].status == RUN_OK && run_chan_len(full) == 1);
    run_chan_release(full);
    run_chan_release(empty);
}

static void closed_channels_are_ready(void) {
    run_chan_t* c = make(sizeof(int), 1);
    int x = 3;
    size_t chosen;
    CHECK_OK(run_chan_send(c, &x));
    CHECK_OK(run_chan_close(c));
    run_select_case_t r[] = {run_recv_case(c, &x)};
    run_select_case_t s[] = {run_send_case(c, &x)};
    CHECK_OK(run_select(r, 1, RUN_FOREVER, &chosen));
    CHECK(chosen == 0 && r[0].status == RUN_OK);
    CHECK_OK(run_select(r, 1, RUN_FOREVER, &chosen));
    CHECK(chosen == 0 && r[0].status == RUN_CLOSED);
    CHECK_OK(run_select(s, 1, 0, &chosen));
    CHECK(chosen == 0 && s[0].status == RUN_CLOSED);
    run_chan_release(c);
}

static void the_choice_is_fair_or_in_order(void) {
    enum { rounds = 3000, kinds = 3 };

    run_chan_t* c[kinds];
    run_select_case_t cases[kinds];
    int counts[kinds] = {0};
    for (int i = 0; i < kinds; ++i) {
        c[i] = make(0, 1);
        CHECK_OK(run_chan_send(c[i], NULL));
        cases[i] = run_recv_case(c[i], NULL);
    }
    for (int i = 0; i < rounds; ++i) {
        size_t chosen;
        CHECK_OK(run_select(cases, kinds, RUN_FOREVER, &chosen));
        ++counts[chosen];
        CHECK_OK(run_chan_send(c[chosen], NULL));
    }
    for (int i = 0; i < kinds; ++i) CHECK(counts[i] > rounds / kinds / 2);
    for (int i = 0; i < 100; ++i) {
        size_t chosen;
        CHECK_OK(run_select_first(cases, kinds, RUN_FOREVER, &chosen));
        CHECK(chosen == 0);
        CHECK_OK(run_chan_send(c[0], NULL));
    }
    for (int i = 0; i < kinds; ++i) run_chan_release(c[i]);
}

static void nonsense_is_refused(void) {
    run_chan_t* c = make(sizeof(int), 1);
    size_t chosen = 0;
    run_select_case_t odd = run_recv_case(c, NULL);
    odd.op = (run_select_op_t)77;
    CHECK_STATUS(RUN_INVALID, run_select(&odd, 1, 0, &chosen));
    CHECK(chosen == 1);
    run_select_case_t empty = run_send_case(c, NULL);
    CHECK_STATUS(RUN_INVALID, run_select(&empty, 1, 0, &chosen));
    CHECK_STATUS(RUN_INVALID, run_select(NULL, 1, 0, &chosen));
    run_chan_release(c);
}

// ---- Waiting.

enum { producers = 40, each = 200 };

struct many {
    run_chan_t* chans[producers];
    int which;
};

struct producer {
    run_chan_t* chan;
    int first;
};

static void produce(void* argument) {
    const struct producer p = *(const struct producer*)argument;  // *argument may go once the channel is closed
    for (int i = 0; i < each; ++i) {
        const int value = p.first + i;
        CHECK_OK(run_chan_send(p.chan, &value));
    }
    CHECK_OK(run_chan_close(p.chan));
    run_chan_release(p.chan);
}

static void* plain_producer(void* argument) {
    produce(argument);
    return NULL;
}

static void receive_from(int count) {
    struct producer ps[producers];
    run_select_case_t cases[producers];
    int got[producers];
    int next[producers] = {0};
    pthread_t threads[producers];
    int plain = 0;
    for (int i = 0; i < count; ++i) {
        ps[i] = (struct producer){make(sizeof(int), (size_t)(i % 3)), i * each};
        cases[i] = run_recv_case(run_chan_retain(ps[i].chan), &got[i]);
        if (i % 8 == 7) {
            threads[plain++] = plain_thread(plain_producer, &ps[i]);
        } else {
            CHECK_OK(run_spawn(produce, &ps[i]));
        }
    }
    for (int open = count; open != 0;) {
        size_t chosen;
        CHECK_OK(run_select(cases, (size_t)count, RUN_FOREVER, &chosen));
        if (cases[chosen].status == RUN_CLOSED) {
            CHECK(next[chosen] == each);
            run_chan_release(cases[chosen].object);
            cases[chosen].object = NULL;
            --open;
        } else {
            CHECK(got[chosen] == (int)chosen * each + next[chosen]);
            ++next[chosen];
        }
    }
    for (int i = 0; i < plain; ++i) join(threads[i]);
}

static void all_that_is_sent_arrives(void) {
    receive_from(2);
    receive_from(10);
    receive_from(producers);  // more than fit in a frame
}

struct meeting {
    run_chan_t* a;
    run_chan_t* b;
    int sum;
    int left;
};

// Sends on a and receives from b, or the other way round, in one select.
static void meet(void* argument) {
    struct meeting* m = argument;
    for (int i = 0; i < each; ++i) {
        const int one = 1;
        int x = 0;
        size_t chosen;
        run_select_case_t cases[] = {run_send_case(m->a, &one), run_recv_case(m->a, &x), run_send_case(m->b, &one),
                                     run_recv_case(m->b, &x)};
        CHECK_OK(run_select(cases, 4, RUN_FOREVER, &chosen));
        CHECK(cases[chosen].status == RUN_OK);
        add(&m->sum, chosen % 2 == 0 ? -1 : x);
    }
    add(&m->left, -1);
}

static void* plain_meet(void* argument) {
    meet(argument);
    return NULL;
}

static void selects_meet_selects(void) {
    struct meeting m = {make(sizeof(int), 0), make(sizeof(int), 0), 0, 4};
    CHECK_OK(run_spawn(meet, &m));
    CHECK_OK(run_spawn(meet, &m));
    const pthread_t first = plain_thread(plain_meet, &m);
    const pthread_t second = plain_thread(plain_meet, &m);
    // Meetings take place in pairs. With an even number none is left over, unless the last two are
    // in the same select: this loop helps that one.
    for (;;) {
        const int one = 1;
        int x = 0;
        size_t chosen;
        run_select_case_t cases[] = {run_send_case(m.a, &one), run_recv_case(m.b, &x)};
        if (load(&m.left) == 0) break;
        const run_status_t status = run_select(cases, 2, 1000000, &chosen);
        if (status == RUN_OK) add(&m.sum, chosen == 0 ? -1 : x);
    }
    join(first);
    join(second);
    CHECK(load(&m.sum) == 0);
    run_chan_release(m.a);
    run_chan_release(m.b);
}

int main(void) {
    RUN_EVERYWHERE(nothing_is_ready);
    RUN_EVERYWHERE(what_is_ready_happens);
    RUN_EVERYWHERE(closed_channels_are_ready);
    RUN_EVERYWHERE(the_choice_is_fair_or_in_order);
    RUN_EVERYWHERE(nonsense_is_refused);
    RUN_EVERYWHERE(all_that_is_sent_arrives);
    RUN_EVERYWHERE(selects_meet_selects);
    return 0;
}
