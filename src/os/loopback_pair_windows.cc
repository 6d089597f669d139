// loopback_pair_windows.cc: see loopback_pair_windows.h.
#include "os/loopback_pair_windows.h"

#include <cerrno>
#include <initializer_list>

#include "os/fd_calls.h"
#include "os/sockets.h"
#include "os/std_handles.h"

namespace weft::detail::os {

namespace {

class made_socket {
public:
    explicit made_socket(int fd) noexcept : fd_(fd) {}

    ~made_socket() {
        if (fd_ >= 0) fd_close(fd_);
    }

    made_socket(const made_socket&) = delete;
    made_socket& operator=(const made_socket&) = delete;

    [[nodiscard]] int get() const noexcept { return fd_; }

    [[nodiscard]] int release() noexcept {
        const int fd = fd_;
        fd_ = -1;
        return fd;
    }

private:
    int fd_;  // or minus errno's value
};

bool await(int fd, short events) noexcept {
    constexpr int patience_ms = 10'000;
    WSAPOLLFD one{to_socket(fd), events, 0};
    return WSAPoll(&one, 1, patience_ms) == 1;
}

int name_of(int fd, bool of_peer, sockaddr_in& name) noexcept {
    uint32_t size = sizeof(name);
    return socket_name(fd, of_peer, reinterpret_cast<sockaddr*>(&name), size);
}

}  // namespace

int loopback_pair(int (&fds)[2]) noexcept {
    const made_socket listens(socket_make(AF_INET, SOCK_STREAM, 0));
    made_socket connects(listens.get() < 0 ? listens.get() : socket_make(AF_INET, SOCK_STREAM, 0));
    if (connects.get() < 0) return connects.get();
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int result = socket_bind(listens.get(), reinterpret_cast<sockaddr*>(&at), sizeof(at));
    if (result == 0) result = socket_listen(listens.get(), SOMAXCONN);
    if (result == 0) result = name_of(listens.get(), false, at);
    if (result == 0) result = socket_connect(connects.get(), reinterpret_cast<sockaddr*>(&at), sizeof(at));
    if (result == -EINPROGRESS) result = await(connects.get(), POLLOUT) ? 0 : -ETIMEDOUT;
    sockaddr_in wanted{};
    if (result == 0) result = name_of(connects.get(), false, wanted);
    while (result == 0) {
        if (!await(listens.get(), POLLIN)) return -ETIMEDOUT;
        made_socket accepted(socket_accept(listens.get()));
        if (accepted.get() == -EAGAIN) continue;
        if (accepted.get() < 0) return accepted.get();
        sockaddr_in peer{};
        if (name_of(accepted.get(), true, peer) != 0 || peer.sin_port != wanted.sin_port) continue;  // another process
        constexpr int at_once = 1;
        for (const int fd : {accepted.get(), connects.get()})
            static_cast<void>(socket_option(fd, IPPROTO_TCP, TCP_NODELAY, at_once));  // else only slower
        fds[0] = accepted.release();
        fds[1] = connects.release();
        return 0;
    }
    return result;
}

}  // namespace weft::detail::os
