// udp.cc: see weft/net/udp.h.

#include <algorithm>
#include <cstring>

#include <weft/net/udp.h>

#include "net/datagram.h"
#include "net/report.h"
#include "net/socket_calls.h"
#include "netpoll/fd_calls.h"
#include "os/sockets.h"

namespace weft::net {

namespace {

namespace fds = weft::detail::fds;
using detail::check;
using detail::code_of;
using detail::socket_address;
using detail::throw_errno;
using detail::throw_result;
using weft::detail::fd_handle;
using weft::detail::io_result;

// An IPv6 socket needs IPv4 addresses in mapped form.
socket_address address_for(bool is_v6, const endpoint& at) noexcept {
    if (!is_v6 || at.version() == endpoint::ip::v6) return socket_address(at);
    std::array<uint8_t, 16> mapped{};
    mapped[10] = mapped[11] = 0xff;
    std::copy_n(at.address().begin(), 4, mapped.begin() + 12);
    return socket_address(endpoint(mapped, at.port()));
}

io_result receive_into(const fd_handle& h, mutable_buffer b, udp_socket::received& got) noexcept {
    socket_address from;
    const io_result r = detail::receive_datagram(h, b, from, got.cut);
    got.size = r.ended == io_result::how::done ? static_cast<std::size_t>(r.count) : 0;
    if (r.ended == io_result::how::done) got.from = from.to_endpoint().value_or(endpoint());
    return r;
}

void change_membership(const fd_handle& h, bool joins, const endpoint& group, const char* what) {
    group_req request{};
    request.gr_interface = group.scope();
    const socket_address address(group);
    std::memcpy(&request.gr_group, &address.storage, sizeof(request.gr_group));
    const int level = group.version() == endpoint::ip::v4 ? IPPROTO_IP : IPPROTO_IPV6;
    detail::set_option(h, level, joins ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP, &request, sizeof(request), what);
}

}  // namespace

udp_socket::udp_socket(const endpoint& at) : udp_socket(at, options()) {}

udp_socket::udp_socket(const endpoint& at, options how) : is_v6_(at.version() == endpoint::ip::v6) {
    const std::string what = "weft: cannot bind a UDP socket to " + at.to_string();
    fd_handle made = detail::make_socket(detail::family_of(at), SOCK_DGRAM, IPPROTO_UDP, what);
    const int fd = made.fd();
    const auto check = [&](int result) {
        if (result < 0) throw_errno(-result, what + detail::advice_on_binding(-result));
    };
    if (how.reuse_address) check(fds::socket_option(fd, SOL_SOCKET, SO_REUSEADDR, 1));
    if (how.reuse_port) check(fds::socket_option(fd, SOL_SOCKET, SO_REUSEPORT, 1));
    if (how.broadcast) check(fds::socket_option(fd, SOL_SOCKET, SO_BROADCAST, 1));
    if (is_v6_) check(fds::socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, how.v6_only ? 1 : 0));
    socket_address address(at);
    check(fds::socket_bind(fd, address.get(), address.size));
    handle_ = std::move(made);
}

udp_socket udp_socket::connected_to(const endpoint& to) {
    udp_socket made(detail::make_socket(detail::family_of(to), SOCK_DGRAM, IPPROTO_UDP,
                                        "weft: cannot connect a UDP socket to " + to.to_string()));
    made.is_v6_ = to.version() == endpoint::ip::v6;
    made.connect(to);
    return made;
}

udp_socket udp_socket::adopt(int fd) {
    udp_socket adopted(detail::adopt_socket(fd, false, SOCK_DGRAM, "weft: udp_socket::adopt"));
    adopted.is_v6_ = adopted.local_endpoint().version() == endpoint::ip::v6;
    return adopted;
}

void udp_socket::connect(const endpoint& to) {
    const weft::detail::fd_use use(handle_.desc(), handle_.generation());
    const std::string what = "weft: cannot connect a UDP socket to " + to.to_string();
    if (!use.entered()) throw std::system_error(errc::closed, what);
    socket_address address = address_for(is_v6_, to);
    const int result = fds::socket_connect(handle_.fd(), address.get(), address.size);
    if (result < 0) throw_errno(-result, what);
}

void udp_socket::send(const_buffer b) { check(detail::send_datagram(handle_, b), "weft: send"); }

void udp_socket::send(const_buffer b, std::error_code& ec) { ec = code_of(detail::send_datagram(handle_, b)); }

void udp_socket::send_to(const_buffer b, const endpoint& to) {
    const io_result r = detail::send_datagram(handle_, b, address_for(is_v6_, to));
    if (r.ended != io_result::how::done) throw_result(r, ("weft: send to " + to.to_string()).c_str());
}

void udp_socket::send_to(const_buffer b, const endpoint& to, std::error_code& ec) {
    ec = code_of(detail::send_datagram(handle_, b, address_for(is_v6_, to)));
}

udp_socket::received udp_socket::receive(mutable_buffer b) {
    received got{};
    check(receive_into(handle_, b, got), "weft: receive");
    return got;
}

udp_socket::received udp_socket::receive(mutable_buffer b, std::error_code& ec) {
    received got{};
    ec = code_of(receive_into(handle_, b, got));
    return got;
}

void udp_socket::join(const endpoint& group) { change_membership(handle_, true, group, "weft: join"); }

void udp_socket::leave(const endpoint& group) { change_membership(handle_, false, group, "weft: leave"); }

endpoint udp_socket::local_endpoint() const {
    return detail::name_of(handle_, false, "weft: local_endpoint").to_endpoint().value_or(endpoint());
}

endpoint udp_socket::remote_endpoint() const {
    return detail::name_of(handle_, true, "weft: remote_endpoint").to_endpoint().value_or(endpoint());
}

}  // namespace weft::net
