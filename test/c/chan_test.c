// chan_test.c: channels.
#include "check.h"

enum { values = 1000 };

// ---- One thread.

static void an_unbuffered_channel_is_never_ready_alone(void) {
    run_chan_t* c;
    int x = 1;
    CHECK_OK(run_chan_make(&c, sizeof(int), 0));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_chan_try_send(c, &x));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_chan_try_recv(c, &x));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_chan_send_for(c, &x, 0));
    CHECK_STATUS(RUN_WOULD_BLOCK, run_chan_recv_for(c, &x, -1));
    CHECK_STATUS(RUN_TIMEOUT, run_chan_send_for(c, &x, 1000000));
    CHECK_STATUS(RUN_TIMEOUT, run_chan_recv_for(c, &x, 1000000));
    CHECK(x == 1);
    CHECK(run_chan_len(c) == 0 && run_chan_cap(c) == 0 && run_chan_elem_size(c) == sizeof(int));
    run_chan_release(c);
}

static void a_buffer_keeps_the_order(void) {
    run_chan_t* c;
    CHECK_OK(run_chan_make(&c, sizeof(int), 3));
    for (int round = 0; round < 5; ++round) {  // so that the ring wraps
        for (int i = 0; i < 3; ++i) CHECK_OK(run_chan_send(c, &i));
        int x = 7;
        CHECK_STATUS(RUN_WOULD_BLOCK, run_chan_try_send(c, &x));
        CHECK(run_chan_len(c) == 3 && run_chan_cap(c) == 3);
        for (int i = 0; i < 3; ++i) {
            CHECK_OK(run_chan_recv(c, &x));
            CHECK(x == i);
        }
        CHECK(run_chan_len(c) == 0);
        // One more element before the next round, so that it begins at another slot.
        CHECK_OK(run_chan_send(c, &x));
        CHECK_OK(run_chan_recv(c, NULL));
    }
    run_chan_release(c);
}

static void a_closed_channel_is_drained_first(void) {
    run_chan_t* c;
    int x = 5;
    CHECK_OK(run_chan_make(&c, sizeof(int), 2));
    CHECK_OK(run_chan_send(c, &x));
    CHECK(!run_chan_closed(c));
    CHECK_OK(run_chan_close(c));
    CHECK(run_chan_closed(c));
    CHECK_STATUS(RUN_CLOSED, run_chan_close(c));
    CHECK_STATUS(RUN_CLOSED, run_chan_send(c, &x));
    CHECK_STATUS(RUN_CLOSED, run_chan_try_send(c, &x));
    x = 0;
    CHECK_OK(run_chan_recv(c, &x));
    CHECK(x == 5);
    CHECK_STATUS(RUN_CLOSED, run_chan_recv(c, &x));
    CHECK_STATUS(RUN_CLOSED, run_chan_try_recv(c, &x));
    CHECK_STATUS(RUN_CLOSED, run_chan_recv_for(c, &x, RUN_FOREVER));
    CHECK(x == 5);
    run_chan_release(c);
}

static void null_is_refused(void) {
    run_chan_t* c;
    int x = 0;
    CHECK_STATUS(RUN_INVALID, run_chan_make(NULL, 4, 4));
    CHECK_STATUS(RUN_EXHAUSTED, run_chan_make(&c, 1000, SIZE_MAX / 1000));
    CHECK(c == NULL);
    CHECK_STATUS(RUN_EXHAUSTED, run_chan_make(&c, SIZE_MAX / 2, 3));
    CHECK_STATUS(RUN_INVALID, run_chan_send(NULL, &x));
    CHECK_STATUS(RUN_INVALID, run_chan_try_send(NULL, &x));
    CHECK_STATUS(RUN_INVALID, run_chan_send_for(NULL, &x, 1));
    CHECK_STATUS(RUN_INVALID, run_chan_recv(NULL, &x));
    CHECK_STATUS(RUN_INVALID, run_chan_try_recv(NULL, &x));
    CHECK_STATUS(RUN_INVALID, run_chan_recv_for(NULL, &x, 1));
    CHECK_STATUS(RUN_INVALID, run_chan_close(NULL));
    CHECK(!run_chan_closed(NULL) && run_chan_len(NULL) == 0 && run_chan_cap(NULL) == 0);
    CHECK(run_chan_elem_size(NULL) == 0 && run_chan_retain(NULL) == NULL);
    run_chan_release(NULL);
    CHECK_OK(run_chan_make(&c, sizeof(int), 1));
    CHECK_STATUS(RUN_INVALID, run_chan_send(c, NULL));
    run_chan_release(c);
}

// ---- Elements of any size, from a sender to a receiver, through buffers of any size.

struct stream {
    run_chan_t* chan;
    size_t size;
    run_chan_t* done;
};

static void fill(unsigned char* element, size_t size, int i) {
    for (size_t k = 0; k < size; ++k) element[k] = (unsigned char)(i + (int)k);
}

static void send_stream(void* argument) {
    const struct stream* s = argument;
    unsigned char element[600];
    for (int i = 0; i < values; ++i) {
        fill(element, s->size, i);
        CHECK_OK(run_chan_send(s->chan, element));
    }
    CHECK_OK(run_chan_close(s->chan));
    CHECK_OK(run_chan_send(s->done, NULL));
}

static void elements_of_any_size_arrive_whole_and_in_order(void) {
    static const size_t sizes[] = {0, 1, 3, 4, 8, 12, 16, 24, 64, 100, 600};
    static const size_t capacities[] = {0, 1, 7, 100};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        for (size_t k = 0; k < sizeof(capacities) / sizeof(capacities[0]); ++k) {
            struct stream s = {NULL, sizes[i], NULL};
            CHECK_OK(run_chan_make(&s.chan, s.size, capacities[k]));
            CHECK_OK(run_chan_make(&s.done, 0, 1));
            CHECK_OK(run_spawn(send_stream, &s));
            unsigned char got[601];
            unsigned char expected[600];
            got[s.size] = 99;
            for (int n = 0; n < values; ++n) {
                CHECK_OK(run_chan_recv(s.chan, got));
                fill(expected, s.size, n);
                CHECK(memcmp(got, expected, s.size) == 0);
            }
            CHECK(got[s.size] == 99);
            CHECK_STATUS(RUN_CLOSED, run_chan_recv(s.chan, got));
            CHECK_OK(run_chan_recv(s.done, NULL));
            run_chan_release(s.done);
            run_chan_release(s.chan);
        }
    }
}

// ---- Many senders and receivers, green and plain.

enum { senders = 4, receivers = 4 };

struct crowd {
    run_chan_t* chan;
    int seen[senders * values];
    int received;
    int senders_left;
    int all_left;
};

static void send_some(struct crowd* c, int which) {
    for (int i = 0; i < values; ++i) {
        const int value = which * values + i;
        CHECK_OK(run_chan_send(c->chan, &value));
    }
    if (add(&c->senders_left, -1) == 0) CHECK_OK(run_chan_close(c->chan));
    add(&c->all_left, -1);
}

static void receive_some(struct crowd* c) {
    int value;
    while (run_chan_recv(c->chan, &value) == RUN_OK) {
        CHECK(add(&c->seen[value], 1) == 1);
        add(&c->received, 1);
    }
    add(&c->all_left, -1);
}

struct part {
    struct crowd* crowd;
    int which;
};

static void green_sender(void* argument) {
    const struct part* p = argument;
    send_some(p->crowd, p->which);
}

static void green_receiver(void* argument) { receive_some(argument); }

static void* plain_sender(void* argument) {
    green_sender(argument);
    return NULL;
}

static void* plain_receiver(void* argument) {
    receive_some(argument);
    return NULL;
}

static void each_element_arrives_once(void) {
    static const size_t capacities[] = {0, 1, 64};
    for (size_t k = 0; k < 3; ++k) {
        static struct crowd c;
        memset(&c, 0, sizeof(c));
        c.senders_left = senders;
        c.all_left = senders + receivers;
        CHECK_OK(run_chan_make(&c.chan, sizeof(int), capacities[k]));
        struct part parts[senders];
        pthread_t threads[4];
        for (int i = 0; i < senders; ++i) parts[i] = (struct part){&c, i};
        for (int i = 0; i < 2; ++i) {
            CHECK_OK(run_spawn(green_sender, &parts[i]));
            CHECK_OK(run_spawn(green_receiver, &c));
            threads[2 * i] = plain_thread(plain_sender, &parts[2 + i]);
            threads[2 * i + 1] = plain_thread(plain_receiver, &c);
        }
        WAIT_UNTIL(load(&c.all_left) == 0);
        for (int i = 0; i < 4; ++i) join(threads[i]);
        CHECK(c.received == senders * values);
        run_chan_release(c.chan);
    }
}

// ---- Closing wakes waiters; references keep the channel.

struct waiters {
    run_chan_t* chan;
    int waiting;
    int closed;
};

static void receive_until_closed(void* argument) {
    struct waiters* w = argument;
    add(&w->waiting, 1);
    CHECK_STATUS(RUN_CLOSED, run_chan_recv(w->chan, NULL));
    run_chan_release(w->chan);
    add(&w->closed, 1);
}

static void send_until_closed(void* argument) {
    struct waiters* w = argument;
    const char value = 'x';
    add(&w->waiting, 1);
    CHECK_STATUS(RUN_CLOSED, run_chan_send(w->chan, &value));
    run_chan_release(w->chan);
    add(&w->closed, 1);
}

static void closing_wakes_all_and_the_last_reference_frees(void) {
    void (*const sides[])(void*) = {receive_until_closed, send_until_closed};
    for (int side = 0; side < 2; ++side) {
        struct waiters w = {NULL, 0, 0};
        CHECK_OK(run_chan_make(&w.chan, 1, 0));
        for (int i = 0; i < 10; ++i) {
            CHECK(run_chan_retain(w.chan) == w.chan);
            CHECK_OK(run_spawn(sides[side], &w));
        }
        run_chan_t* mine = w.chan;
        WAIT_UNTIL(load(&w.waiting) == 10);
        CHECK_OK(run_chan_close(mine));
        run_chan_release(mine);
        WAIT_UNTIL(load(&w.closed) == 10);
    }
}

static void send_after_a_while(void* chan) {
    const int value = 17;
    for (int i = 0; i < 10; ++i) run_yield();
    CHECK_OK(run_chan_send(chan, &value));
}

static void a_deadline_that_is_not_needed_changes_nothing(void) {
    run_chan_t* c;
    CHECK_OK(run_chan_make(&c, sizeof(int), 0));
    for (int i = 0; i < 100; ++i) {
        int x = 0;
        CHECK_OK(run_spawn(send_after_a_while, c));
        CHECK_OK(run_chan_recv_for(c, &x, INT64_C(60) * 1000000000));
        CHECK(x == 17);
    }
    // The last sender may not have returned yet.
    CHECK_STATUS(RUN_TIMEOUT, run_chan_recv_for(c, NULL, 1000000));
    run_chan_release(c);
}

int main(void) {
    RUN_EVERYWHERE(an_unbuffered_channel_is_never_ready_alone);
    RUN_EVERYWHERE(a_buffer_keeps_the_order);
    RUN_EVERYWHERE(a_closed_channel_is_drained_first);
    RUN_TEST(null_is_refused);
    RUN_EVERYWHERE(elements_of_any_size_arrive_whole_and_in_order);
    RUN_EVERYWHERE(each_element_arrives_once);
    RUN_EVERYWHERE(closing_wakes_all_and_the_last_reference_frees);
    RUN_EVERYWHERE(a_deadline_that_is_not_needed_changes_nothing);
    return 0;
}
