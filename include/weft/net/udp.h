// udp.h: UDP: datagrams, each of which arrives whole: once, twice, late, or not at all.
//
//   weft::net::udp_socket socket(weft::net::endpoint(":5353"));
//   for (;;) {
//       const auto [size, from, cut] = socket.receive(buffer);
//       socket.send_to({buffer, size}, from);
//   }
//
// Several green threads may send and receive at once; each call handles its own datagram. Waiting,
// closing and errors are as for stream.h.
//
// See: docs/sockets.md
#pragma once

#include <cstddef>
#include <system_error>
#include <utility>

#include <weft/detail/require.h>
#include <weft/net/buffer.h>
#include <weft/net/endpoint.h>
#include <weft/net/socket.h>

namespace weft::net {

class udp_socket : public socket {
public:
    struct options {
        bool reuse_port = false;  ///< several sockets share the port, and the system distributes senders
        bool reuse_address =
            false;  ///< several sockets of a multicast group share the port; each gets all that is sent to the group
        bool v6_only = false;    ///< for an IPv6 address: does not include IPv4
        bool broadcast = false;  ///< may send to broadcast addresses
    };

    struct received {
        std::size_t size;  ///< bytes
        endpoint from;     ///< the sender
        bool cut;          ///< the datagram was longer than the buffer; the rest is lost
    };

    /// Not open: every call fails with weft::errc::closed.
    udp_socket() noexcept = default;

    /// Binds. Throws std::system_error, which names the address and a remedy. Port 0: the system
    /// chooses one.
    explicit udp_socket(const endpoint& at);
    udp_socket(const endpoint& at, options how);

    /// Returns a socket that communicates only with to. Throws std::system_error.
    [[nodiscard]] static udp_socket connected_to(const endpoint& to);

    /// Takes ownership of a UDP socket and makes it non-blocking. Throws std::system_error, with fd
    /// unchanged.
    [[nodiscard]] static udp_socket adopt(int fd);

    /// Makes to the target of send() and the only accepted sender. If nothing listens there, a
    /// later call reports the error. Does not wait.
    void connect(const endpoint& to);

    /// Sends b whole, at most 65 507 bytes. Waits while the system has no room for it.
    void send(const_buffer b);
    void send(const_buffer b, std::error_code& ec);
    void send_to(const_buffer b, const endpoint& to);
    void send_to(const_buffer b, const endpoint& to, std::error_code& ec);

    /// Waits for a datagram, which may be empty.
    [[nodiscard]] received receive(mutable_buffer b);
    [[nodiscard]] received receive(mutable_buffer b, std::error_code& ec);

    /// Starts to receive what is sent to group, until leave() or close(). The port is ignored; an
    /// IPv6 scope selects the interface.
    void join(const endpoint& group);
    void leave(const endpoint& group);

    [[nodiscard]] endpoint local_endpoint() const;

    /// The connected peer. Throws std::system_error if the socket is not connected.
    [[nodiscard]] endpoint remote_endpoint() const;

private:
    explicit udp_socket(weft::detail::fd_handle handle) noexcept : socket(std::move(handle)) {}

    bool is_v6_ = false;
};

}  // namespace weft::net
