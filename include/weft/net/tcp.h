// tcp.h: TCP connections and listeners.
//
//   weft::net::tcp_listener listener("127.0.0.1:8080");
//   for (;;) weft::go([conn = listener.accept()]() mutable { serve(conn); });
//
// See: docs/sockets.md
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/detail/require.h>
#include <weft/net/endpoint.h>
#include <weft/net/stream.h>

namespace weft::net {

class tcp_stream : public stream {
public:
    /// Not connected: every call fails with weft::errc::closed.
    tcp_stream() noexcept = default;

    /// Connects. Waits until the peer has accepted or refused, or the caller's deadline
    /// (with_timeout) has passed.
    [[nodiscard]] static tcp_stream connect(const endpoint& to);
    [[nodiscard]] static tcp_stream connect(const endpoint& to, std::error_code& ec);

    /// Takes ownership of a connected socket and makes it non-blocking. Throws std::system_error,
    /// with fd unchanged.
    [[nodiscard]] static tcp_stream adopt(int fd);

    [[nodiscard]] endpoint local_endpoint() const;
    [[nodiscard]] endpoint remote_endpoint() const;

    /// Whether small writes are sent at once (the default) or collected while an acknowledgement is
    /// pending.
    void set_no_delay(bool on);

    /// Whether the system probes an idle peer: first after idle, then every interval. It gives up
    /// after probes attempts without an answer. Whole seconds, at least one.
    void set_keep_alive(bool on,
                        std::chrono::seconds idle = std::chrono::seconds(15),
                        std::chrono::seconds interval = std::chrono::seconds(15),
                        int probes = 9);

private:
    friend class tcp_listener;

    explicit tcp_stream(weft::detail::fd_handle handle) noexcept : stream(std::move(handle), false) {}
};

class tcp_listener : public socket {
public:
    struct options {
        int backlog = 4096;       ///< connections that wait for accept(); the system has its own limit
        bool reuse_port = false;  ///< several listeners share the port, and the system distributes connections
        bool v6_only = false;     ///< for an IPv6 address: does not include IPv4
        bool no_delay = true;     ///< for accepted connections
    };

    tcp_listener() noexcept = default;

    /// Binds and listens. Throws std::system_error, which names the address and a remedy. Port 0:
    /// the system chooses one, see local_endpoint().
    explicit tcp_listener(const endpoint& at);
    tcp_listener(const endpoint& at, options how);

    explicit tcp_listener(std::string_view at) : tcp_listener(endpoint(at)) {}

    /// Waits for a connection. Two conditions are not errors. A connection that ends before it is
    /// accepted is skipped. If the process or the system has no file descriptor left, accept()
    /// pauses and tries again, after one line on stderr. A cancellation point. Several green
    /// threads may accept; each gets its own connection.
    [[nodiscard]] tcp_stream accept();
    [[nodiscard]] tcp_stream accept(std::error_code& ec);

    /// Returns count listeners at the same address, among which the system distributes connections
    /// (reuse_port). With one listener per processor, and a green thread that accepts from each,
    /// accepting is no bottleneck. 0: as many as the caller's runtime has processors; in a plain
    /// thread, one.
    [[nodiscard]] static std::vector<tcp_listener> several(const endpoint& at, unsigned count = 0);
    [[nodiscard]] static std::vector<tcp_listener> several(const endpoint& at, unsigned count, options how);

    /// Takes ownership of a listening socket, e.g. from a service manager, and makes it
    /// non-blocking. Throws std::system_error, with fd unchanged.
    [[nodiscard]] static tcp_listener adopt(int fd);

    [[nodiscard]] endpoint local_endpoint() const;

private:
    bool no_delay_ = true;
};

}  // namespace weft::net
