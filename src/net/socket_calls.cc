// socket_calls.cc: see socket_calls.h.
#include "net/socket_calls.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <weft/time.h>

#include "base/atomic.h"
#include "net/report.h"
#include "netpoll/fd_calls.h"
#include "os/sockets.h"

namespace weft::net::detail {

namespace fds = weft::detail::fds;
using weft::detail::call_in;
using weft::detail::call_out;
using weft::detail::fd_handle;
using weft::detail::fd_use;
using weft::detail::io_result;
using weft::detail::may_leave_some;
using weft::detail::wait_reason;

namespace {

constexpr int64_t no_fd_first_ns = 5'000'000;  // without file descriptors
constexpr int64_t no_fd_longest_ns = 1'000'000'000;
constexpr int64_t queue_full_first_ns = 100'000;  // between tries to connect a Unix socket
constexpr int64_t queue_full_longest_ns = 20'000'000;

io_result finish_connecting(const fd_handle& h) noexcept {
    bool waited = false;
    const auto attempt = [&]() -> ssize_t {
        // Before the first edge there is no result to ask for.
        if (!std::exchange(waited, true)) return -EAGAIN;
        int error = 0;
        if (const int result = fds::socket_option_of(h.fd(), SOL_SOCKET, SO_ERROR, error); result < 0) return result;
        if (error != 0) return -error;
        socket_address peer;
        // Without an error or a peer, the wake-up was spurious.
        return fds::socket_name(h.fd(), true, peer.get(), peer.size) == -ENOTCONN ? -EAGAIN : 0;
    };
    return call_out(h, may_leave_some, attempt);
}

// The connection is gone again, or the network had a transient error.
bool is_gone(int error) noexcept {
    switch (error) {
        case ECONNABORTED:
        case EPROTO:
        case ENETDOWN:
        case ENOPROTOOPT:
#if defined(EHOSTDOWN)
        case EHOSTDOWN:
#endif
#if defined(ENONET)
        case ENONET:
#endif
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH:
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
                           ? "this process has no file descriptor left; close some, or raise the limit: ulimit -n"
                       : error == ENFILE ? "the system has no file descriptor left; raise fs.file-max"
                                         : "the system has no memory left for sockets; close some connections";
    std::fprintf(stderr, "weft: cannot accept a connection until resources are free: %s\n", what);
}

// Checks periodically for a close, because no poller notices it. Returns false if interrupted.
bool sleep_instead(const fd_use& use, int64_t until_ns, io_result& r) noexcept {
    constexpr int64_t look_ns = 10'000'000;
    try {
        while (!use.is_closed() && weft::detail::now_ns() < until_ns)
            weft::detail::sleep_until_ns(std::min(until_ns, weft::detail::now_ns() + look_ns));
    } catch (const cancelled&) {
        r = {-1, 0, io_result::how::cancelled};
        return false;
    } catch (const timed_out&) {
        r = {-1, 0, io_result::how::expired};
        return false;
    }
    return true;
}

// Ends early if h is closed or its deadline passes. Returns false if interrupted.
bool pause(const fd_handle& h, int64_t ns, io_result& r) {
    const fd_use use(h.desc(), h.generation());
    const int64_t over_ns = weft::detail::now_ns() + ns;
    while (!use.is_closed()) {
        const int64_t until_ns = std::min(over_ns, h.read_deadline());  // other threads may change it
        weft::detail::poll_side& in = use.desc().in;
        if (!await_fd(use, in, in.edges(), wait_reason::fd_readable, until_ns, r)) {
            if (r.ended != io_result::how::failed) return r.ended == io_result::how::timed_out;
            return sleep_instead(use, until_ns, r);  // the poller itself would have needed a descriptor
        }
        in.pass_on();  // another waiter may succeed
    }
    return true;
}

}  // namespace

fd_handle make_socket(int family, int type, int protocol, const std::string& what) {
    const int fd = fds::socket_make(family, type, protocol);
    if (fd < 0) throw_errno(-fd, what);
    return fd_handle(fd);
}

fd_handle adopt_socket(int fd, bool is_unix, int type, const char* what) {
    int found = 0;
    if (const int result = fds::socket_option_of(fd, SOL_SOCKET, SO_TYPE, found); result < 0)
        throw_errno(-result, what);
    if (found != type) throw_errno(EPROTOTYPE, what);
    if (const int result = fds::socket_family(fd, found); result < 0) throw_errno(-result, what);
    const bool fits = is_unix ? found == AF_UNIX : found == AF_INET || found == AF_INET6;
    if (!fits) throw_errno(EAFNOSUPPORT, what);
    if (const int result = fds::make_nonblocking(fd); result < 0) throw_errno(-result, what);
    return fd_handle(fd);
}

socket_address name_of(const fd_handle& h, bool of_peer, const char* what) {
    const fd_use use(h.desc(), h.generation());
    if (!use.entered()) throw std::system_error(errc::closed, what);
    socket_address name;
    if (const int result = fds::socket_name(h.fd(), of_peer, name.get(), name.size); result < 0) {
        throw_errno(-result, what);
    }
    return name;
}

void set_option(const fd_handle& h, int level, int option, const void* value, uint32_t size, const char* what) {
    const fd_use use(h.desc(), h.generation());
    if (!use.entered()) throw std::system_error(errc::closed, what);
    if (const int result = fds::socket_option(h.fd(), level, option, value, size); result < 0)
        throw_errno(-result, what);
}

void set_option(const fd_handle& h, int level, int option, int value, const char* what) {
    set_option(h, level, option, &value, sizeof(value), what);
}

io_result connect_to(socket_address to, const fd_handle& made) {
    // A Unix listener's queue may be full (EAGAIN). No event says when it has room.
    for (int64_t pause_ns = queue_full_first_ns;; pause_ns = std::min(2 * pause_ns, queue_full_longest_ns)) {
        const int result = fds::socket_connect(made.fd(), to.get(), to.size);
        if (result == 0) return {};
        if (result == -EINPROGRESS || result == -EINTR) return finish_connecting(made);
        if (result != -EAGAIN) return {-1, -result, io_result::how::failed};
        if (to.storage.ss_family != AF_UNIX) return {-1, EADDRNOTAVAIL, io_result::how::failed};  // no port is left
        io_result r;
        if (!pause(made, pause_ns, r)) return r;
    }
}

io_result accept_from(const fd_handle& h) {
    for (int64_t pause_ns = no_fd_first_ns;;) {
        io_result r = call_in(h, may_leave_some, [&]() -> ssize_t { return fds::socket_accept(h.fd()); });
        if (r.ended != io_result::how::failed) return r;
        if (is_gone(r.error)) continue;
        const bool is_refused = r.error == EPERM;  // by a firewall, perhaps for ever
        if (!is_refused && !is_shortage(r.error)) return r;
        if (!is_refused) warn_of_shortage(r.error);
        if (!pause(h, pause_ns, r)) return r;
        pause_ns = std::min(2 * pause_ns, no_fd_longest_ns);
    }
}

std::string advice_on_binding(int error) {
    switch (error) {
        case EADDRINUSE:
            return ": another socket is bound to it; choose another port or path, or set reuse_port on all these "
                   "sockets";
        case EACCES:
            return ": ports below 1024 need CAP_NET_BIND_SERVICE; paths need write permission for the directory";
        case EADDRNOTAVAIL:
            return ": this machine does not have that address; use one of its own, or :PORT for all of them";
        default:
            return {};
    }
}

}  // namespace weft::net::detail
