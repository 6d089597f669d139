// simulated_datagrams.cc: datagrams of a simulated network: see simulated_network.h.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <weft/net/endpoint.h>

#include "net/socket_address.h"
#include "os/sockets.h"
#include "sim/controlled_run.h"
#include "sim/simulated_network.h"
#include "sim/socket_addresses.h"

namespace weft::sim {

namespace {

using net::endpoint;
using net::detail::socket_address;
namespace poll_bits = weft::detail::poll_bits;

// As Linux: the receive buffer of a socket, and the queue of a Unix socket.
constexpr std::size_t datagram_bytes_max = 212'992;
constexpr std::size_t unix_datagrams_max = 10;
constexpr std::size_t datagram_size_max = 65'507;

}  // namespace

int64_t simulated_network::send_to(
    int fd, const void* data, std::size_t size, const sockaddr* to, uint32_t to_size) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->is == state::dead) return -ECONNABORTED;
    if (s->error != 0) return -std::exchange(s->error, 0);
    std::string bytes(static_cast<const char*>(data), size);
    if (to == nullptr) {
        if (s->is != state::connected) return s->family == AF_UNIX ? -ENOTCONN : -EDESTADDRREQ;
        return send_datagram(*s, std::move(bytes), s->peer);
    }
    const socket_address a = read_address(to, to_size);
    if (s->family == AF_UNIX) return send_datagram(*s, std::move(bytes), {{}, 0, path_of(a.to_unix_address())});
    const std::optional<endpoint> e = a.to_endpoint();
    if (!e) return -EAFNOSUPPORT;
    return send_datagram(*s, std::move(bytes), {bytes_of(*e), e->port(), {}});
}

int64_t simulated_network::send_datagram(sock& s, std::string bytes, const place& to) {
    if (const int error = failure_of(s.host, socket_call::send); error != 0) return -error;
    const auto size = static_cast<int64_t>(bytes.size());
    if (s.family == AF_UNIX) {
        sock* other = s.out ? with_serial(s.out->reader) : bound_to(s.host, SOCK_DGRAM, to.path);
        if (other == nullptr) return s.out || s.is == state::connected ? -ECONNREFUSED : -ENOENT;
        if (other->queue.size() >= unix_datagrams_max) return -EAGAIN;
        other->queue.push_back({s.own, nullptr, nullptr, std::move(bytes)});
        edge(*other, poll_bits::readable);
        return size;
    }
    if (bytes.size() > datagram_size_max) return -EMSGSIZE;
    const std::optional<unsigned> host = computers.find(to.address, s.host);
    if (!host) return -ENETUNREACH;
    if (!s.is_bound) {
        const bool is_near = is_loopback(to.address) || is_any(to.address);
        const ip own = is_near ? mapped({127, 0, 0, 1}) : mapped(hosts::address(s.host));
        if (const int result = bind_to_any_port(s, own); result < 0) return result;
    }
    place from = s.own;
    if (is_any(from.address)) from.address = is_loopback(to.address) ? to.address : mapped(hosts::address(s.host));
    const int copies = happens(options.duplication) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
        events.add(now_ns() + delay(), [this, sender = s.serial, from_host = s.host, to_host = *host, from, to, bytes] {
            deliver_datagram(sender, from_host, to_host, from, to, bytes);
        });
    }
    return size;
}

void simulated_network::deliver_datagram(uint64_t sender,
                                         unsigned from_host,
                                         unsigned to_host,
                                         const place& from,
                                         const place& to,
                                         const std::string& bytes) {
    if (!arrives(from_host, to_host, options.loss)) return;
    sock* s = bound_to(to_host, SOCK_DGRAM, to.address, to.port, from.port);
    if (s == nullptr) {
        events.add(now_ns() + delay(), [this, sender, from_host, to_host] {
            sock* client = with_serial(sender);
            if (client == nullptr || client->is != state::connected || !arrives(to_host, from_host, 0)) return;
            client->error = ECONNREFUSED;
            edge(*client, poll_bits::readable | poll_bits::writable | poll_bits::hung_up);
        });
        return;
    }
    const bool is_wanted = s->is != state::connected || (s->peer.address == from.address && s->peer.port == from.port);
    if (!is_wanted || s->queued_bytes + bytes.size() > datagram_bytes_max) {
        ++count.lost;
        return;
    }
    s->queued_bytes += bytes.size();
    count.bytes += bytes.size();
    s->queue.push_back({from, nullptr, nullptr, bytes});
    edge(*s, poll_bits::readable);
}

int64_t simulated_network::receive_from(
    int fd, void* into, std::size_t size, sockaddr* from, uint32_t& from_size, bool& cut) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->is == state::dead) return -ECONNABORTED;
    if (s->error != 0) return -std::exchange(s->error, 0);
    if (s->queue.empty()) return s->reads_no_more ? 0 : -EAGAIN;
    if (const int error = failure_of(s->host, socket_call::receive); error != 0) return -error;
    const arrival a = std::move(s->queue.front());
    s->queue.pop_front();
    s->queued_bytes -= std::min(s->queued_bytes, a.bytes.size());
    cut = a.bytes.size() > size;
    const std::size_t moved = std::min(size, a.bytes.size());
    std::memcpy(into, a.bytes.data(), moved);
    if (from != nullptr) {
        const socket_address name = s->family == AF_UNIX
                                        ? unix_socket_address(a.from.path)
                                        : socket_address(endpoint_of(s->family, a.from.address, a.from.port));
        std::memcpy(from, &name.storage, std::min(from_size, name.size));
        from_size = name.size;
    }
    return static_cast<int64_t>(moved);
}

}  // namespace weft::sim
