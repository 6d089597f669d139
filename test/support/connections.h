// connections.h: connected pairs, over each kind of socket, for tests that hold for all of them.
//
//     over_streams([](auto over) {
//         connection c(over);  // c.near, c.far
//         …
//     });
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include <weft/net/tcp.h>
#include <weft/net/udp.h>
#include <weft/net/unix.h>

#include "os/fd_calls.h"

namespace weft::test {

struct over_tcp {
    using stream = net::tcp_stream;
    using listener = net::tcp_listener;

    static listener listen(int backlog = 4096) {
        return listener(net::endpoint::loopback(0), listener::options{.backlog = backlog});
    }

    static stream connect(const listener& to) { return stream::connect(to.local_endpoint()); }

    static stream connect(const listener& to, std::error_code& ec) { return stream::connect(to.local_endpoint(), ec); }
};

struct over_unix {
    using stream = net::unix_stream;
    using listener = net::unix_listener;

    // At a unique abstract name.
    static listener listen(int backlog = 4096);

    static stream connect(const listener& to) { return stream::connect(to.local_address()); }

    static stream connect(const listener& to, std::error_code& ec) { return stream::connect(to.local_address(), ec); }
};

struct over_udp {
    using socket = net::udp_socket;

    static std::pair<socket, socket> pair();
};

struct over_unix_datagrams {
    using socket = net::unix_datagram;

    static std::pair<socket, socket> pair() { return socket::pair(); }
};

// Two ends of a connection made with a listener.
template <typename Over>
struct connection {
    explicit connection(Over) {
        typename Over::listener listener = Over::listen();
        near = Over::connect(listener);
        far = listener.accept();
    }

    typename Over::stream near;
    typename Over::stream far;
};

// Two datagram sockets that send to each other.
template <typename Over>
struct datagrams {
    explicit datagrams(Over) { std::tie(near, far) = Over::pair(); }

    typename Over::socket near;
    typename Over::socket far;
};

// Reports once if anything has failed so far.
void tell_failure(const char* over);

// Calls f for each kind of stream. Without Unix sockets at abstract names, TCP is the only one.
template <typename F>
void over_streams(F f) {
    f(over_tcp());
    tell_failure("TCP");
    if (!weft::detail::os::has_abstract_names()) return;
    f(over_unix());
    tell_failure("Unix sockets");
}

// Calls f for each kind of datagram socket. Without such names, UDP is the only one.
template <typename F>
void over_datagrams(F f) {
    f(over_udp());
    tell_failure("UDP");
    if (!weft::detail::os::has_abstract_names()) return;
    f(over_unix_datagrams());
    tell_failure("Unix datagrams");
}

// Small system buffers: a writer soon waits for its reader.
void make_buffers_small(net::socket& s);

// Closing it sends a reset, and data in transit is lost. TCP.
void reset_on_close(net::socket& s);

// Number i of the unique bytes of key.
[[nodiscard]] constexpr char secret_byte(uint64_t key, uint64_t i) noexcept {
    return static_cast<char>((key + i) * 0x9e3779b97f4a7c15U >> 56);
}

[[nodiscard]] std::string secret_bytes(uint64_t key, uint64_t from, std::size_t count);

// Whether bytes are those of key, from number from. Any thread.
[[nodiscard]] bool are_secret_bytes(const char* bytes, std::size_t count, uint64_t key, uint64_t from) noexcept;

}  // namespace weft::test
