// net_test.c: sockets, and waiting for descriptors.
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

static void echo(void* connection) {
    run_socket_t* c = connection;
    char text[100];
    size_t n;
    while (run_socket_read_some(c, text, sizeof(text), &n, NULL) == RUN_OK && n != 0) {
        CHECK_OK(run_socket_write(c, text, n, NULL, NULL));
    }
    run_socket_free(c);
}

static void serve(void* listener) {
    run_socket_t* c;
    run_status_t status;
    while ((status = run_socket_accept(listener, &c, NULL)) == RUN_OK) CHECK_OK(run_spawn(echo, c));
    CHECK_STATUS(RUN_CLOSED, status);
}

static void* serve_one_plainly(void* listener) {
    run_socket_t* c;
    CHECK_OK(run_socket_accept(listener, &c, NULL));
    echo(c);
    return NULL;
}

static void talk(run_socket_t* c) {
    char text[14];
    size_t n = 0;
    CHECK_OK(run_socket_write(c, "there and back", 14, &n, NULL));
    CHECK(n == 14);
    CHECK_OK(run_socket_read(c, text, 14, &n, NULL));
    CHECK(n == 14 && memcmp(text, "there and back", 14) == 0);
    CHECK_OK(run_socket_shutdown_send(c, NULL));
    CHECK_OK(run_socket_read_some(c, text, 14, &n, NULL));
    CHECK(n == 0);
}

static void echoes_over_tcp(void) {
    run_socket_t* listener;
    run_socket_t* c;
    run_wait_group_t* group;
    char at[RUN_ADDRESS_MAX];
    char same[RUN_ADDRESS_MAX];
    CHECK_OK(run_tcp_listen("127.0.0.1:0", &listener, NULL));
    CHECK_OK(run_socket_address(listener, false, at, NULL));
    CHECK_OK(run_wait_group_make(&group));
    CHECK_OK(run_wait_group_go(group, serve, listener));
    CHECK_OK(run_tcp_dial(at, &c, NULL));
    CHECK_OK(run_socket_address(c, true, same, NULL));
    CHECK(strcmp(at, same) == 0);
    CHECK(run_socket_fd(c) >= 0);
    talk(c);
    run_socket_free(c);
    CHECK_OK(run_socket_close(listener));
    CHECK(run_socket_fd(listener) == -1);
    CHECK_OK(run_wait_group_wait(group));
    run_wait_group_free(group);
    run_socket_free(listener);
}

static void echoes_over_a_unix_socket(void) {
    run_socket_t* listener;
    run_socket_t* c;
    char at[RUN_ADDRESS_MAX];
    pthread_t server;
    snprintf(at, sizeof(at), "@weft_c_net_test_%d", (int)getpid());
    CHECK_OK(run_unix_listen(at, &listener, NULL));
    server = plain_thread(serve_one_plainly, listener);
    CHECK_OK(run_unix_connect(at, &c, NULL));
    talk(c);
    run_socket_free(c);
    join(server);
    run_socket_free(listener);
}

static void datagrams_have_a_sender(void) {
    run_socket_t* a;
    run_socket_t* b;
    char at_a[RUN_ADDRESS_MAX];
    char at_b[RUN_ADDRESS_MAX];
    char from[RUN_ADDRESS_MAX];
    char text[4];
    size_t n;
    bool cut;
    int error;
    CHECK_OK(run_udp_bind("127.0.0.1:0", &a, NULL));
    CHECK_OK(run_udp_bind("127.0.0.1:0", &b, NULL));
    CHECK_OK(run_socket_address(a, false, at_a, NULL));
    CHECK_OK(run_socket_address(b, false, at_b, NULL));
    CHECK_OK(run_udp_send(a, "hello", 5, at_b, NULL));
    CHECK_OK(run_udp_receive(b, text, sizeof(text), &n, &cut, from, NULL));
    CHECK(n == 4 && cut && strcmp(from, at_a) == 0);
    CHECK_STATUS(RUN_INVALID, run_udp_send(a, "x", 1, "no address", NULL));
    CHECK_STATUS(RUN_INVALID, run_socket_read_some(a, text, 1, &n, NULL));
    CHECK_STATUS(RUN_SYSTEM, run_socket_address(a, true, from, &error));
    CHECK(error == ENOTCONN);
    run_socket_free(a);
    run_socket_free(b);
}

static void errors_say_why(void) {
    run_socket_t* s;
    run_socket_t* other;
    char at[RUN_ADDRESS_MAX];
    char byte;
    size_t n;
    int error = -1;
    CHECK_OK(run_tcp_listen("127.0.0.1:0", &s, &error));
    CHECK(error == 0);
    CHECK_OK(run_socket_address(s, false, at, NULL));
    CHECK_STATUS(RUN_SYSTEM, run_tcp_listen(at, &other, &error));
    CHECK(error == EADDRINUSE && other == NULL);
    CHECK_OK(run_socket_set_timeout(s, 1000000));
    CHECK_STATUS(RUN_TIMEOUT, run_socket_accept(s, &other, &error));
    CHECK(error == 0 && other == NULL);
    run_socket_free(s);
    CHECK_STATUS(RUN_SYSTEM, run_tcp_dial(at, &s, &error));
    CHECK(error == ECONNREFUSED && s == NULL);
    CHECK_STATUS(RUN_INVALID, run_tcp_dial("no port", &s, &error));
    CHECK_STATUS(RUN_INVALID, run_tcp_listen("localhost:80", &s, &error));
    CHECK_STATUS(RUN_INVALID, run_tcp_listen(NULL, &s, NULL));
    CHECK_STATUS(RUN_INVALID, run_socket_read(NULL, &byte, 1, &n, NULL));
    CHECK_STATUS(RUN_INVALID, run_socket_close(NULL));
    CHECK(run_socket_fd(NULL) == -1);
    run_socket_free(NULL);
}

static void descriptors_of_others_are_waited_for(void) {
    int ends[2];
    unsigned ready = 7;
    int error = 0;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK_STATUS(RUN_WOULD_BLOCK, run_wait_fd(ends[0], RUN_READABLE, 0, &ready, NULL));
    CHECK(ready == 0);
    CHECK_STATUS(RUN_TIMEOUT, run_wait_fd(ends[0], RUN_READABLE, 1000000, NULL, NULL));
    CHECK_OK(run_wait_fd(ends[0], RUN_READABLE | RUN_WRITABLE, RUN_FOREVER, &ready, NULL));
    CHECK(ready == RUN_WRITABLE);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK_OK(run_wait_fd(ends[0], RUN_READABLE, RUN_FOREVER, &ready, NULL));
    CHECK(ready == RUN_READABLE);
    close(ends[0]);
    CHECK_STATUS(RUN_SYSTEM, run_wait_fd(ends[0], RUN_READABLE, RUN_FOREVER, &ready, &error));
    CHECK(error == EBADF);
    CHECK_STATUS(RUN_INVALID, run_wait_fd(ends[1], 0, RUN_FOREVER, &ready, &error));
    CHECK_STATUS(RUN_INVALID, run_wait_fd(ends[1], 4, RUN_FOREVER, &ready, &error));
    close(ends[1]);
}

static void write_a_byte(void* fd) { CHECK(write(*(int*)fd, "x", 1) == 1); }

static void descriptors_are_cases_of_a_select(void) {
    int ends[2];
    run_watch_t* watch;
    run_chan_t* chan;
    run_wait_group_t* group;
    size_t chosen;
    int error;
    char byte;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK_OK(run_watch_make(ends[0], &watch, NULL));
    CHECK_OK(run_chan_make(&chan, 0, 1));
    CHECK_OK(run_wait_group_make(&group));
    {
        run_select_case_t cases[] = {run_recv_case(chan, NULL), run_readable_case(watch), run_writable_case(NULL)};
        CHECK_STATUS(RUN_WOULD_BLOCK, run_select(cases, 3, 0, &chosen));
        CHECK_STATUS(RUN_TIMEOUT, run_select(cases, 3, 1000000, &chosen));
        CHECK_OK(run_wait_group_go(group, write_a_byte, &ends[1]));
        CHECK_OK(run_select(cases, 3, RUN_FOREVER, &chosen));
        CHECK(chosen == 1 && cases[1].status == RUN_OK);
        CHECK(read(ends[0], &byte, 1) == 1);
        cases[2] = run_writable_case(watch);
        CHECK_OK(run_select(cases, 3, RUN_FOREVER, &chosen));
        CHECK(chosen == 2 && cases[2].status == RUN_OK);
    }
    CHECK_OK(run_wait_group_wait(group));
    run_wait_group_free(group);
    run_chan_release(chan);
    run_watch_free(watch);
    run_watch_free(NULL);
    close(ends[0]);
    close(ends[1]);
    CHECK_STATUS(RUN_SYSTEM, run_watch_make(-1, &watch, &error));
    CHECK(error == EBADF && watch == NULL);
}

int main(void) {
    RUN_EVERYWHERE(echoes_over_tcp);
    RUN_EVERYWHERE(echoes_over_a_unix_socket);
    RUN_EVERYWHERE(datagrams_have_a_sender);
    RUN_EVERYWHERE(errors_say_why);
    RUN_EVERYWHERE(descriptors_of_others_are_waited_for);
    RUN_EVERYWHERE(descriptors_are_cases_of_a_select);
    return 0;
}
