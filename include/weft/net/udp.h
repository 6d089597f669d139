// udp.h: UDP: datagrams, each of which arrives whole, once, twice, late, or not at all.
//
//   weft::net::udp_socket socket(weft::net::endpoint(":5353"));
//   for (;;) {
//       const auto [size, from, cut] = socket.receive(buffer);
//       socket.send_to({buffer, size}, from);
//   }
//
// Several may send and receive at a time: each call gets or sends a datagram of its own. Calls wait, end and fail as those of stream.h.
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
        bool reuse_port = false;  // several sockets share the port, and the system deals senders out among them
        bool reuse_address =
            false;  // several sockets of a multicast group have the port; each gets all that is sent to the group
        bool v6_only = false;    // of an IPv6 address: IPv4 is not taken along
        bool broadcast = false;  // it may send to broadcast addresses
    };

    struct received {
        std::size_t size;  // bytes
        endpoint from;     // who has sent it
        bool cut;          // the datagram was longer than the buffer; the rest is lost
    };

    // Not open: every call fails with weft::errc::closed.
    udp_socket() noexcept = default;

    // Binds. Throws std::system_error, which names the address and what to do about it. Port 0: the system chooses one.
    explicit udp_socket(const endpoint& at);
    udp_socket(const endpoint& at, options how);

    // One that talks to that one only. Throws std::system_error.
    [[nodiscard]] static udp_socket connected_to(const endpoint& to);

    // Takes a UDP socket over, and makes it non-blocking. Throws std::system_error, with fd as it was.
    [[nodiscard]] static udp_socket adopt(int fd);

    // From now on send() sends to that one, only its datagrams are received, and an error that it reports (nobody listens there) is that of a later
    // call. Does not wait.
    void connect(const endpoint& to);

    // Sends b, whole, at most 65 507 bytes. Waits while the system has no room for it.
    void send(const_buffer b);
    void send(const_buffer b, std::error_code& ec);
    void send_to(const_buffer b, const endpoint& to);
    void send_to(const_buffer b, const endpoint& to, std::error_code& ec);

    // Waits for a datagram, which may be empty.
    [[nodiscard]] received receive(mutable_buffer b);
    [[nodiscard]] received receive(mutable_buffer b, std::error_code& ec);

    // Receives what is sent to that group (its port does not matter; an IPv6 scope chooses the interface), until leave() or close().
    void join(const endpoint& group);
    void leave(const endpoint& group);

    [[nodiscard]] endpoint local_endpoint() const;

    // Who it is connected to. Throws std::system_error if it is not.
    [[nodiscard]] endpoint remote_endpoint() const;

private:
    explicit udp_socket(weft::detail::fd_handle handle) noexcept : socket(std::move(handle)) {}

    bool is_v6_ = false;
};

}  // namespace weft::net
