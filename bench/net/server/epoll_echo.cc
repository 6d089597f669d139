// epoll_echo.cc: the lower bound: one event loop per thread, directly on epoll.
//
// Level-triggered, one registration per connection, one buffer per thread: read once, write back,
// next event. An accepting thread assigns connections to the loops in turn. Data that the system
// does not take at once is kept, and the connection is not read until it is sent. No deadlines,
// cancellation or tasks; a runtime's features cost extra.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "server_options.h"

namespace bench::net {

namespace {

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "epoll_echo: %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

struct connection {
    int fd;
    std::string unsent;
};

class event_loop {
public:
    explicit event_loop(std::size_t buffer_size) : epoll_(::epoll_create1(EPOLL_CLOEXEC)), buffer_(buffer_size) {
        if (epoll_ < 0) fail("epoll_create1");
    }

    // Called by the accepting thread.
    void add(int fd) { watch(EPOLL_CTL_ADD, *new connection{fd, {}}, EPOLLIN); }

    [[noreturn]] void run() {
        std::array<epoll_event, 256> events;
        for (;;) {
            const int n = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
            if (n < 0 && errno != EINTR) fail("epoll_wait");
            for (int i = 0; i < n; ++i) {
                serve(*static_cast<connection*>(events[static_cast<std::size_t>(i)].data.ptr));
            }
        }
    }

private:
    void serve(connection& c) {
        if (!c.unsent.empty()) return send_rest(c);
        const ssize_t n = ::recv(c.fd, buffer_.data(), buffer_.size(), 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) return end(c);
        const auto size = static_cast<std::size_t>(n);
        const ssize_t sent = ::send(c.fd, buffer_.data(), size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return end(c);
        const auto done = sent < 0 ? 0 : static_cast<std::size_t>(sent);
        if (done == size) return;
        c.unsent.assign(buffer_.data() + done, size - done);
        watch(EPOLL_CTL_MOD, c, EPOLLOUT);
    }

    void send_rest(connection& c) {
        const ssize_t sent = ::send(c.fd, c.unsent.data(), c.unsent.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return end(c);
        if (sent > 0) c.unsent.erase(0, static_cast<std::size_t>(sent));
        if (c.unsent.empty()) watch(EPOLL_CTL_MOD, c, EPOLLIN);
    }

    static void end(connection& c) {
        ::close(c.fd);
        delete &c;
    }

    void watch(int how, connection& c, uint32_t what) {
        epoll_event event{};
        event.events = what;
        event.data.ptr = &c;
        if (::epoll_ctl(epoll_, how, c.fd, &event) != 0) fail("epoll_ctl");
    }

    int epoll_;
    std::vector<char> buffer_;
};

int listen_at(const server_options& o, std::string& address) {
    const bool is_unix = !o.unix_path.empty();
    const int fd = ::socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un at_path{};
    at_path.sun_family = AF_UNIX;
    o.unix_path.copy(at_path.sun_path, sizeof at_path.sun_path - 1);
    sockaddr_in at_port{};
    at_port.sin_family = AF_INET;
    at_port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = is_unix ? sizeof at_path : sizeof at_port;
    auto* at = is_unix ? reinterpret_cast<sockaddr*>(&at_path) : reinterpret_cast<sockaddr*>(&at_port);
    if (fd < 0 || ::bind(fd, at, size) != 0 || ::listen(fd, 4096) != 0) fail("listen");
    ::getsockname(fd, at, &size);
    address = is_unix ? "unix:" + o.unix_path : tcp_address(ntohs(at_port.sin_port));
    return fd;
}

[[noreturn]] void serve(const server_options& o) {
    std::string address;
    const int listener = listen_at(o, address);
    std::vector<std::unique_ptr<event_loop>> loops;
    for (int i = 0; i < o.p; ++i) {
        event_loop& loop = *loops.emplace_back(std::make_unique<event_loop>(o.buffer));
        std::thread([&loop] { loop.run(); }).detach();
    }
    announce("epoll", "gcc " __VERSION__, address);
    for (std::size_t turn = 0;; turn = (turn + 1) % loops.size()) {
        const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) fail("accept");
        const int on = 1;
        if (o.unix_path.empty()) ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        loops[turn]->add(fd);
    }
}

}  // namespace

}  // namespace bench::net

int main(int argc, char** argv) { bench::net::serve(bench::net::parse_server_options(argc, argv, "echo")); }
