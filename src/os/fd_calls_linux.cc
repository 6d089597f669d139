// fd_calls_linux.cc: see fd_calls.h.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "os/fd_calls.h"

// Not inlined, nor specialised, under link-time optimization either.
#if defined(__clang__)
#define WEFT_FD_CALL __attribute__((noinline))
#else
#define WEFT_FD_CALL __attribute__((noipa))
#endif

namespace weft::detail::os {

namespace {

[[gnu::always_inline]] inline ssize_t result_of(ssize_t count) noexcept { return count >= 0 ? count : -errno; }

[[gnu::always_inline]] inline int result_of(int value) noexcept { return value >= 0 ? value : -errno; }

}  // namespace

WEFT_FD_CALL ssize_t socket_receive(int fd, void* into, std::size_t size) noexcept {
    return result_of(::recv(fd, into, size, 0));
}

WEFT_FD_CALL ssize_t socket_send(int fd, const void* from, std::size_t size) noexcept {
    return result_of(::send(fd, from, size, MSG_NOSIGNAL));
}

WEFT_FD_CALL ssize_t socket_receive_many(int fd, const iovec* into, std::size_t count) noexcept {
    return result_of(::readv(fd, into, static_cast<int>(count)));
}

WEFT_FD_CALL ssize_t socket_send_many(int fd, const iovec* from, std::size_t count) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(from);  // only read
    message.msg_iovlen = count;
    return result_of(::sendmsg(fd, &message, MSG_NOSIGNAL));
}

WEFT_FD_CALL ssize_t send_file(int socket, int file, int64_t& offset, std::size_t count) noexcept {
    off_t at = offset;
    const ssize_t sent = result_of(::sendfile(socket, file, &at, count));
    offset = at;
    return sent;
}

WEFT_FD_CALL int socket_make(int family, int type, int protocol) noexcept {
    return result_of(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
}

WEFT_FD_CALL int socket_accept(int fd) noexcept {
    return result_of(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

WEFT_FD_CALL int socket_connect(int fd, const sockaddr* to, uint32_t to_size) noexcept {
    return result_of(::connect(fd, to, to_size));
}

WEFT_FD_CALL int socket_bind(int fd, const sockaddr* to, uint32_t to_size) noexcept {
    return result_of(::bind(fd, to, to_size));
}

WEFT_FD_CALL int socket_listen(int fd, int backlog) noexcept { return result_of(::listen(fd, backlog)); }

WEFT_FD_CALL int socket_shut(int fd, int how) noexcept { return result_of(::shutdown(fd, how)); }

WEFT_FD_CALL int socket_name(int fd, bool of_peer, sockaddr* name, uint32_t& size) noexcept {
    return result_of(of_peer ? ::getpeername(fd, name, &size) : ::getsockname(fd, name, &size));
}

WEFT_FD_CALL int socket_option(int fd, int level, int option, int value) noexcept {
    return result_of(::setsockopt(fd, level, option, &value, sizeof(value)));
}

WEFT_FD_CALL int socket_option_of(int fd, int level, int option, int& value) noexcept {
    socklen_t size = sizeof(value);
    return result_of(::getsockopt(fd, level, option, &value, &size));
}

WEFT_FD_CALL int make_nonblocking(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    return result_of(flags < 0 ? flags : ::fcntl(fd, F_SETFL, flags | O_NONBLOCK));
}

WEFT_FD_CALL int fd_close(int fd) noexcept { return result_of(::close(fd)); }

}  // namespace weft::detail::os
