// tcp.cc: see weft/net/tcp.h.

#include <algorithm>
#include <limits>
#include <utility>

#include <weft/debug.h>
#include <weft/net/tcp.h>

#include "net/report.h"
#include "net/socket_calls.h"
#include "netpoll/fd_calls.h"
#include "os/sockets.h"

namespace weft::net {

namespace {

namespace fds = weft::detail::fds;
namespace os = weft::detail::os;
using detail::code_of;
using detail::socket_address;
using detail::throw_errno;
using detail::throw_result;
using weft::detail::fd_handle;
using weft::detail::io_result;

int set_no_delay_of(int fd, bool on) noexcept { return fds::socket_option(fd, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0); }

io_result connect_to(const endpoint& to, fd_handle& made) {
    const int fd = fds::socket_make(detail::family_of(to), SOCK_STREAM, IPPROTO_TCP);
    if (fd < 0) return {-1, -fd, io_result::how::failed};
    made = fd_handle(fd);
    static_cast<void>(set_no_delay_of(fd, true));  // optional: works without it
    return detail::connect_to(socket_address(to), made);
}

fd_handle accept_from(const fd_handle& h, bool no_delay, io_result& r) {
    r = detail::accept_from(h);
    if (r.ended != io_result::how::done) return {};
    fd_handle made(static_cast<int>(r.count));
    if (no_delay) static_cast<void>(set_no_delay_of(made.fd(), true));
    return made;
}

}  // namespace

tcp_stream tcp_stream::connect(const endpoint& to) {
    fd_handle made;
    const io_result r = connect_to(to, made);
    if (r.ended != io_result::how::done) throw_result(r, ("weft: cannot connect to " + to.to_string()).c_str());
    return tcp_stream(std::move(made));
}

tcp_stream tcp_stream::connect(const endpoint& to, std::error_code& ec) {
    fd_handle made;
    const io_result r = connect_to(to, made);
    ec = code_of(r);
    return ec ? tcp_stream() : tcp_stream(std::move(made));
}

tcp_stream tcp_stream::adopt(int fd) {
    return tcp_stream(detail::adopt_socket(fd, false, SOCK_STREAM, "weft: tcp_stream::adopt"));
}

endpoint tcp_stream::local_endpoint() const {
    return detail::name_of(handle_, false, "weft: local_endpoint").to_endpoint().value_or(endpoint());
}

endpoint tcp_stream::remote_endpoint() const {
    return detail::name_of(handle_, true, "weft: remote_endpoint").to_endpoint().value_or(endpoint());
}

void tcp_stream::set_no_delay(bool on) {
    detail::set_option(handle_, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0, "weft: set_no_delay");
}

void tcp_stream::set_keep_alive(bool on, std::chrono::seconds idle, std::chrono::seconds interval, int probes) {
    constexpr const char* what = "weft: set_keep_alive";
    detail::set_option(handle_, SOL_SOCKET, SO_KEEPALIVE, on ? 1 : 0, what);
    if (!on) return;
    const auto number = [](std::chrono::seconds s) {
        constexpr std::chrono::seconds::rep most = std::numeric_limits<int>::max();
        return static_cast<int>(std::clamp(s.count(), -most, most));  // the system reports what it rejects
    };
    detail::set_option(handle_, IPPROTO_TCP, os::tcp_idle_option(), number(idle), what);
    detail::set_option(handle_, IPPROTO_TCP, TCP_KEEPINTVL, number(interval), what);
    detail::set_option(handle_, IPPROTO_TCP, TCP_KEEPCNT, probes, what);
}

tcp_listener::tcp_listener(const endpoint& at) : tcp_listener(at, options()) {}

tcp_listener::tcp_listener(const endpoint& at, options how) : no_delay_(how.no_delay) {
    const std::string what = "weft: cannot listen on " + at.to_string();
    endpoint here = at;
    int fd = fds::socket_make(detail::family_of(here), SOCK_STREAM, IPPROTO_TCP);
    if (fd == -EAFNOSUPPORT && !how.v6_only && at == endpoint(std::array<uint8_t, 16>{}, at.port())) {
        here = endpoint(std::array<uint8_t, 4>{}, at.port());  // without IPv6, this is every address
        fd = fds::socket_make(detail::family_of(here), SOCK_STREAM, IPPROTO_TCP);
    }
    if (fd < 0) throw_errno(-fd, what);
    fd_handle made(fd);
    const auto check = [&](int result) {
        if (result < 0) throw_errno(-result, what + detail::advice_on_binding(-result));
    };
    check(fds::socket_option(fd, SOL_SOCKET, SO_REUSEADDR, 1));
    if (how.reuse_port) check(fds::socket_option(fd, SOL_SOCKET, SO_REUSEPORT, 1));
    if (here.version() == endpoint::ip::v6)
        check(fds::socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, how.v6_only ? 1 : 0));
    socket_address address(here);
    check(fds::socket_bind(fd, address.get(), address.size));
    check(fds::socket_listen(fd, how.backlog));
    handle_ = std::move(made);
}

std::vector<tcp_listener> tcp_listener::several(const endpoint& at, unsigned count) {
    return several(at, count, options());
}

std::vector<tcp_listener> tcp_listener::several(const endpoint& at, unsigned count, options how) {
    if (count == 0) count = std::max(1U, stats().procs);
    how.reuse_port = true;
    std::vector<tcp_listener> all;
    all.reserve(count);
    all.emplace_back(at, how);
    const endpoint same = all.front().local_endpoint();  // port 0 has become a real one
    while (all.size() < count) all.emplace_back(same, how);
    return all;
}

tcp_listener tcp_listener::adopt(int fd) {
    tcp_listener adopted;
    adopted.handle_ = detail::adopt_socket(fd, false, SOCK_STREAM, "weft: tcp_listener::adopt");
    return adopted;
}

endpoint tcp_listener::local_endpoint() const {
    return detail::name_of(handle_, false, "weft: local_endpoint").to_endpoint().value_or(endpoint());
}

tcp_stream tcp_listener::accept() {
    io_result r;
    fd_handle made = accept_from(handle_, no_delay_, r);
    if (r.ended != io_result::how::done) throw_result(r, "weft: accept");
    return tcp_stream(std::move(made));
}

tcp_stream tcp_listener::accept(std::error_code& ec) {
    io_result r;
    fd_handle made = accept_from(handle_, no_delay_, r);
    ec = code_of(r);
    return tcp_stream(std::move(made));
}

}  // namespace weft::net
