// tcp.cc: see weft/net/tcp.h.
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <weft/net/tcp.h>
#include <weft/time.h>

#include "base/atomic.h"
#include "net/fd_io.h"
#include "net/report.h"
#include "net/socket_address.h"
#include "os/fd_calls.h"

namespace weft::net {

namespace {

namespace os = weft::detail::os;
using detail::code_of;
using detail::socket_address;
using detail::throw_errno;
using detail::throw_result;
using weft::detail::call_in;
using weft::detail::call_out;
using weft::detail::fd_handle;
using weft::detail::fd_use;
using weft::detail::io_result;
using weft::detail::wait_reason;

constexpr int64_t no_fd_first_ns = 5'000'000;  // after the process has run out of descriptors
constexpr int64_t no_fd_longest_ns = 1'000'000'000;

int set_no_delay_of(int fd, bool on) noexcept { return os::socket_option(fd, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0); }

// Waits until the connection that fd has begun is there, or has failed.
io_result finish_connecting(const fd_handle& h) noexcept {
    bool waited = false;
    const auto attempt = [&]() -> ssize_t {
        // Before the first edge there is nothing to ask.
        if (!std::exchange(waited, true)) return -EAGAIN;
        int error = 0;
        if (const int result = os::socket_option_of(h.fd(), SOL_SOCKET, SO_ERROR, error); result < 0) return result;
        if (error != 0) return -error;
        socket_address peer;
        // Not connected and no error: woken for another reason.
        return os::socket_name(h.fd(), true, peer.get(), peer.size) == -ENOTCONN ? -EAGAIN : 0;
    };
    return call_out(h, 0, attempt);
}

io_result connect_to(const endpoint& to, fd_handle& made) {
    const int fd = os::socket_make(detail::family_of(to), SOCK_STREAM, IPPROTO_TCP);
    if (fd < 0) return {-1, -fd, io_result::how::failed};
    made = fd_handle(fd);
    static_cast<void>(set_no_delay_of(fd, true));  // if it cannot be had, it works without
    socket_address address(to);
    const int result = os::socket_connect(fd, address.get(), address.size);
    if (result == 0) return {};
    if (result != -EINPROGRESS && result != -EINTR) return {-1, -result, io_result::how::failed};
    return finish_connecting(made);
}

// The connection was there, and is no more; or the network had a moment.
bool is_gone(int error) noexcept {
    switch (error) {
        case ECONNABORTED:
        case EPROTO:
        case ENETDOWN:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH:
        case EPERM:  // a firewall
            return true;
        default:
            return false;
    }
}

bool is_shortage(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

void warn_of_shortage(int error) noexcept {
    static constinit weft::detail::atomic<bool> said{false};
    if (said.exchange(true, weft::detail::relaxed)) return;  // relaxed: once is enough
    const char* what = error == EMFILE
                           ? "this process has no file descriptor left: raise its limit (ulimit -n), or close some"
                       : error == ENFILE ? "the system has no file descriptor left (fs.file-max)"
                                         : "the system has no memory left for sockets";
    std::fprintf(stderr, "weft: a connection cannot be accepted for now: %s\n", what);
}

// Waits until a pause is over, or h is closed, or its deadline has passed. False: interrupted.
bool pause(const fd_handle& h, int64_t ns, io_result& r) {
    const fd_use use(h.desc(), h.generation());
    const int64_t until_ns = std::min(weft::detail::now_ns() + ns, h.read_deadline());
    while (!use.is_closed()) {
        weft::detail::poll_side& in = use.desc().in;
        if (!await_fd(use, in, in.edges(), wait_reason::fd_readable, until_ns, r)) {
            if (r.ended != io_result::how::failed) return r.ended == io_result::how::timed_out;
            weft::detail::sleep_until_ns(until_ns);  // the poller itself would have needed a descriptor
            return true;
        }
        in.pass_on();  // another one may have better luck
    }
    return true;
}

fd_handle accept_from(const fd_handle& h, bool no_delay, io_result& r) {
    for (int64_t pause_ns = no_fd_first_ns;;) {
        r = call_in(h, 0, [&]() -> ssize_t { return os::socket_accept(h.fd()); });
        if (r.ended == io_result::how::done) break;
        if (r.ended != io_result::how::failed) return {};
        if (is_gone(r.error)) continue;
        if (!is_shortage(r.error)) return {};
        warn_of_shortage(r.error);
        if (!pause(h, pause_ns, r)) return {};
        pause_ns = std::min(2 * pause_ns, no_fd_longest_ns);
    }
    const auto fd = static_cast<int>(r.count);
    fd_handle made(fd);
    if (no_delay) static_cast<void>(set_no_delay_of(fd, true));  // if it cannot be had, it works without
    return made;
}

endpoint name_of(const fd_handle& h, bool of_peer, const char* what) {
    const fd_use use(h.desc(), h.generation());
    if (!use.entered()) throw std::system_error(errc::closed, what);
    socket_address name;
    if (const int result = os::socket_name(h.fd(), of_peer, name.get(), name.size); result < 0) {
        throw_errno(-result, what);
    }
    return name.to_endpoint().value_or(endpoint());
}

void set_option(const fd_handle& h, int level, int option, int value, const char* what) {
    const fd_use use(h.desc(), h.generation());
    if (!use.entered()) throw std::system_error(errc::closed, what);
    if (const int result = os::socket_option(h.fd(), level, option, value); result < 0) throw_errno(-result, what);
}

std::string advice(int error) {
    switch (error) {
        case EADDRINUSE:
            return ": another socket listens there; choose another port, or set reuse_port on all of them";
        case EACCES:
            return ": ports below 1024 need a privilege (CAP_NET_BIND_SERVICE)";
        case EADDRNOTAVAIL:
            return ": this machine has no such address";
        default:
            return {};
    }
}

}  // namespace

tcp_stream tcp_stream::connect(const endpoint& to) {
    fd_handle made;
    const io_result r = connect_to(to, made);
    if (r.ended != io_result::how::done) throw_result(r, ("weft: connect to " + to.to_string()).c_str());
    return tcp_stream(std::move(made));
}

tcp_stream tcp_stream::connect(const endpoint& to, std::error_code& ec) {
    fd_handle made;
    const io_result r = connect_to(to, made);
    ec = code_of(r);
    return ec ? tcp_stream() : tcp_stream(std::move(made));
}

tcp_stream tcp_stream::adopt(int fd) {
    if (const int result = os::make_nonblocking(fd); result < 0) throw_errno(-result, "weft: tcp_stream::adopt");
    return tcp_stream(fd_handle(fd));
}

endpoint tcp_stream::local_endpoint() const { return name_of(handle_, false, "weft: local_endpoint"); }

endpoint tcp_stream::remote_endpoint() const { return name_of(handle_, true, "weft: remote_endpoint"); }

void tcp_stream::set_no_delay(bool on) {
    set_option(handle_, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0, "weft: set_no_delay");
}

void tcp_stream::set_keep_alive(bool on, std::chrono::seconds idle, std::chrono::seconds interval, int probes) {
    constexpr const char* what = "weft: set_keep_alive";
    set_option(handle_, SOL_SOCKET, SO_KEEPALIVE, on ? 1 : 0, what);
    if (!on) return;
    set_option(handle_, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(idle.count()), what);
    set_option(handle_, IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(interval.count()), what);
    set_option(handle_, IPPROTO_TCP, TCP_KEEPCNT, probes, what);
}

tcp_listener::tcp_listener(const endpoint& at) : tcp_listener(at, options()) {}

tcp_listener::tcp_listener(const endpoint& at, options how) : no_delay_(how.no_delay) {
    const std::string what = "weft: listen at " + at.to_string();
    const int fd = os::socket_make(detail::family_of(at), SOCK_STREAM, IPPROTO_TCP);
    if (fd < 0) throw_errno(-fd, what);
    fd_handle made(fd);
    const auto check = [&](int result) {
        if (result < 0) throw_errno(-result, what + advice(-result));
    };
    check(os::socket_option(fd, SOL_SOCKET, SO_REUSEADDR, 1));
    if (how.reuse_port) check(os::socket_option(fd, SOL_SOCKET, SO_REUSEPORT, 1));
    if (at.version() == endpoint::ip::v6) check(os::socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, how.v6_only ? 1 : 0));
    socket_address address(at);
    check(os::socket_bind(fd, address.get(), address.size));
    check(os::socket_listen(fd, how.backlog));
    handle_ = std::move(made);
}

endpoint tcp_listener::local_endpoint() const { return name_of(handle_, false, "weft: local_endpoint"); }

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
