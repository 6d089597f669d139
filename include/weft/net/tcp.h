// tcp.h: TCP: connections, and those who listen for them.
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
    // Not connected: every call fails with weft::errc::closed.
    tcp_stream() noexcept = default;

    // Connects. Waits until the other side has accepted, refused, or the deadline of the caller (with_timeout) has passed.
    [[nodiscard]] static tcp_stream connect(const endpoint& to);
    [[nodiscard]] static tcp_stream connect(const endpoint& to, std::error_code& ec);

    // Takes a connected socket over, and makes it non-blocking. Throws std::system_error, with fd as it was.
    [[nodiscard]] static tcp_stream adopt(int fd);

    [[nodiscard]] endpoint local_endpoint() const;
    [[nodiscard]] endpoint remote_endpoint() const;

    // Whether small writes are sent at once (they are, unless this says otherwise) or collected while an answer is outstanding.
    void set_no_delay(bool on);

    // Whether the system asks an idle other side if it is still there: first after idle, then each interval, and gives up after probes
    // of them without an answer. Whole seconds, at least one.
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
        int backlog = 4096;       // connections that wait for accept(); the system has a limit of its own
        bool reuse_port = false;  // several listeners share the port, and the system deals connections out among them
        bool v6_only = false;     // of an IPv6 address: IPv4 is not taken along
        bool no_delay = true;     // of the accepted connections
    };

    tcp_listener() noexcept = default;

    // Binds and listens. Throws std::system_error, which names the address and what to do about it. Port 0: the system chooses one, see
    // local_endpoint().
    explicit tcp_listener(const endpoint& at);
    tcp_listener(const endpoint& at, options how);

    explicit tcp_listener(std::string_view at) : tcp_listener(endpoint(at)) {}

    // Waits for a connection. That one came and went before it was accepted, and that the process or the system has no file descriptor left
    // for it, is no error: the next one is waited for, in the second case after a pause, and one line on stderr says so. A cancellation
    // point. Several may accept; each gets its own.
    [[nodiscard]] tcp_stream accept();
    [[nodiscard]] tcp_stream accept(std::error_code& ec);

    // count listeners at the same address, among which the system deals connections out (reuse_port): with one for each processor, and a green
    // thread that accepts from each, accepting is no bottleneck. 0: as many as the caller's runtime has processors; in a plain thread, one.
    [[nodiscard]] static std::vector<tcp_listener> several(const endpoint& at, unsigned count = 0);
    [[nodiscard]] static std::vector<tcp_listener> several(const endpoint& at, unsigned count, options how);

    // Takes a listening socket over, as a service manager hands over, and makes it non-blocking. Throws std::system_error, with fd as it was.
    [[nodiscard]] static tcp_listener adopt(int fd);

    [[nodiscard]] endpoint local_endpoint() const;

private:
    bool no_delay_ = true;
};

}  // namespace weft::net
