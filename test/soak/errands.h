// errands.h: operations other than conversations. Each is begun, done and checked, and has ended
// when the function returns.
//
// Threads: green threads. Each takes its decisions from the generator that it is given.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <weft/net/tcp.h>
#include <weft/net/udp.h>
#include <weft/net/unix.h>
#include <weft/weft.h>

#include "soak/books.h"
#include "support/random.h"

namespace weft::test {

// A UDP echo server and a client of it.
class udp_echo {
public:
    udp_echo() = default;
    void open();
    void close();
    void ask(books& all, prng random) const;

private:
    net::udp_socket socket_;
    net::endpoint address_;
    wait_group serving_;
};

// A server that cuts slow clients, and such clients: over TCP, Unix sockets or TLS, silent, or one
// byte at a time.
class impatient_house {
public:
    // May be called again after close().
    void open(books& all);
    void close();
    void be_slow_there(books& all, prng random) const;

private:
    net::tcp_listener tcp_;
    net::unix_listener local_;
    net::endpoint address_;
    net::unix_address name_;
    wait_group serving_;
};

// Datagrams between two Unix sockets arrive, in order.
void send_datagrams(books& all, prng random);

// Waits for a foreign pipe by its descriptor, alone and in a select.
void watch_a_pipe(books& all, prng random);

// Closes a socket while others wait for it. Its number is at once that of another socket.
void use_a_number_again(books& all, prng random, std::atomic<uint64_t>& times_used_again);

void look_a_name_up(books& all, prng random);

// Uses a folder of the caller's. number: of the file.
void write_and_read_a_file(books& all, prng random, const std::string& folder, uint64_t number);

// Starts a program in one of several ways.
inline constexpr int ways_to_start_a_program = 5;
void start_a_program(books& all, prng random, int way);

// Forgets a child process that still runs. The first call opens the epoll set of forgotten
// children, which stays open.
void forget_a_running_program();

// Sends itself a signal with no effect by default.
void get_a_signal(books& all, prng random);

// Blocks the thread, announced or not, or computes.
void be_in_the_way(books& all, prng random);

}  // namespace weft::test
