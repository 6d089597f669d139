// network.h: the network of a simulation: its hosts, its delays and its faults.
//
// In a simulation, weft's sockets never reach the system. They belong to a network in memory, in
// which nothing is lost and nothing takes time, until the test says otherwise:
//
//     weft::sim::network net({.latency = 1ms, .jitter = 5ms, .loss = 0.01});
//     weft::sim::host server = net.add_host("server");
//     server.go([] { serve(weft::net::tcp_listener(weft::net::endpoint("0.0.0.0:80"))); });
//     net.partition(server, net.local());
//
// Code under test uses weft::net as usual: tcp, udp, Unix sockets, resolve and dial. A green thread
// belongs to the host of the one that started it; the test's function to the host "localhost".
// Every delay and every loss is a choice of the schedule (weft::sim::choose), so it is repeated
// with it, and shrunk.
//
// See: docs/sim.md#a-network
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/detail/source_location.h>
#include <weft/net/endpoint.h>
#include <weft/net/tcp.h>

namespace weft::sim {

namespace detail {
struct host_access;
}  // namespace detail

/// What happens between two sockets.
struct network_options {
    /// From the send of a byte or datagram to its arrival.
    std::chrono::nanoseconds latency{0};
    /// At most so much is added; datagrams may overtake each other by it.
    std::chrono::nanoseconds jitter{0};
    /// The part of all packets that does not arrive, from 0 to 1. A stream sends them again, the
    /// first time after 200 ms, then after twice the last pause, for 15 minutes.
    double loss = 0;
    /// The part of all datagrams that arrives twice.
    double duplication = 0;
    /// Of each direction of a stream. 0: no limit.
    uint64_t bytes_per_second = 0;
    /// Bytes of one direction of a stream that are on their way or unread, before a writer waits.
    std::size_t window = 64 * 1024;
    /// Whether the bytes of one write may arrive in two parts.
    bool splits = true;
};

/// A call of the system that can be made to fail.
enum class socket_call : uint8_t { make, bind, listen, connect, accept, send, receive };

/// Which calls fail.
struct call_failures {
    unsigned after = 0;  ///< so many succeed before
    unsigned times = 1;  ///< so many fail, then they succeed again
};

/// One computer of the network. A value that refers to it; valid in the schedule that made it.
class host {
public:
    /// As for weft::net::resolve.
    [[nodiscard]] std::string name() const;
    /// 10.0.x.y, port 0.
    [[nodiscard]] net::endpoint address() const;

    /// Starts a green thread there. Dumps and traces say that the call at `where` started it.
    void go(std::function<void()> f, source_location where = source_location::current()) const;

    /// Cuts it off and forgets its sockets, as a loss of power does. Its green threads are
    /// cancelled, and fail with ECONNABORTED in calls on sockets except accept(). A weft::cancelled
    /// may leave them. Peers notice nothing, until what they send is not acknowledged for 15
    /// minutes, or until restart().
    void crash() const;
    /// After crash(): it is up again, without sockets. Peers of earlier ones get ECONNRESET once
    /// they send. Throws std::invalid_argument if it is up.
    void restart() const;
    [[nodiscard]] bool is_up() const;

    /// Makes calls of that kind on its sockets fail with the error. Only calls count that would
    /// succeed: an accept with a connection, a receive with bytes. All rules count such a call,
    /// also if another one makes it fail.
    void fail(socket_call what, std::errc error, const call_failures& which = {}) const;

    friend bool operator==(const host&, const host&) noexcept = default;

private:
    friend class network;
    friend struct detail::host_access;

    explicit host(unsigned number) noexcept : number_(number) {}

    unsigned number_;
};

/// The network of the simulation that runs the caller: a value that refers to it. All functions:
/// green threads of a simulation; fatal elsewhere.
class network {
public:
    network();
    /// Sets the options for all that is sent from now on. Throws std::invalid_argument for negative
    /// times, for parts that are not from 0 to 1, and for a window of 0.
    explicit network(const network_options& how);

    void set(const network_options& how) const;

    /// Throws std::invalid_argument if the name is taken, empty, or an address.
    host add_host(std::string_view name) const;
    /// The host "localhost", where the test's function runs.
    [[nodiscard]] host local() const;
    /// The host of the caller.
    [[nodiscard]] host here() const;
    /// Throws std::invalid_argument if no host has the name.
    [[nodiscard]] host find(std::string_view name) const;

    /// Nothing passes between the two, in either direction, until heal(). Streams keep what they
    /// send for that time.
    void partition(const host& a, const host& b) const;
    /// Cuts only the way from one to the other.
    void partition_one_way(const host& from, const host& to) const;
    void heal(const host& a, const host& b) const;
    /// All of them.
    void heal() const;

    /// Listens on the host of that name, which is added if it does not exist: "srv:80".
    [[nodiscard]] net::tcp_listener listen(std::string_view host_and_port) const;
    /// weft::net::dial.
    [[nodiscard]] net::tcp_stream dial(std::string_view host_and_port) const;

    struct counts {
        uint64_t packets = 0;  ///< sent: pieces of streams, and datagrams
        uint64_t lost = 0;     ///< of these: by network_options::loss, partitions and crashes
        uint64_t bytes = 0;    ///< that arrived
        uint64_t connections = 0;
    };

    [[nodiscard]] counts so_far() const;
};

}  // namespace weft::sim
