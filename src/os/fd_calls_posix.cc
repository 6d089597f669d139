// fd_calls_posix.cc: see fd_calls.h.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/fault_injection.h"
#include "os/fd_calls.h"
#include "os/never_inlined.h"
#include "os/new_descriptor.h"

namespace weft::detail::os {

namespace {

// Received descriptors are not inherited by executed programs.
#if defined(MSG_CMSG_CLOEXEC)
constexpr int receive_flags = MSG_CMSG_CLOEXEC;

void finish_received(int /*file*/) noexcept {}
#else
constexpr int receive_flags = 0;

void finish_received(int file) noexcept { ::fcntl(file, F_SETFD, FD_CLOEXEC); }
#endif

}  // namespace

WEFT_OS_CALL ssize_t socket_receive(int fd, void* into, std::size_t size) noexcept {
    if (const int error = injected_failure(failure::receive); error != 0) return -error;
    return or_errno(::recv(fd, into, size, 0));
}

WEFT_OS_CALL ssize_t socket_send(int fd, const void* from, std::size_t size) noexcept {
    if (const int error = injected_failure(failure::send); error != 0) return -error;
    return or_errno(::send(fd, from, size, MSG_NOSIGNAL));
}

WEFT_OS_CALL ssize_t socket_receive_many(int fd, const iovec* into, std::size_t count) noexcept {
    if (const int error = injected_failure(failure::receive); error != 0) return -error;
    return or_errno(::readv(fd, into, static_cast<int>(count)));
}

WEFT_OS_CALL ssize_t socket_send_many(int fd, const iovec* from, std::size_t count) noexcept {
    if (const int error = injected_failure(failure::send); error != 0) return -error;
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(from);  // only read
    message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(count);
    return or_errno(::sendmsg(fd, &message, MSG_NOSIGNAL));
}

WEFT_OS_CALL ssize_t
socket_send_to(int fd, const void* data, std::size_t size, const sockaddr* to, uint32_t to_size) noexcept {
    if (const int error = injected_failure(failure::send); error != 0) return -error;
    return or_errno(::sendto(fd, data, size, MSG_NOSIGNAL, to, to_size));
}

WEFT_OS_CALL ssize_t
socket_receive_from(int fd, void* into, std::size_t size, sockaddr* from, uint32_t& from_size, bool& cut) noexcept {
    if (const int error = injected_failure(failure::receive); error != 0) return -error;
    iovec one{into, size};
    msghdr message{};
    message.msg_name = from;
    message.msg_namelen = from_size;
    message.msg_iov = &one;
    message.msg_iovlen = 1;
    const ssize_t count = or_errno(::recvmsg(fd, &message, 0));
    from_size = message.msg_namelen;
    cut = (message.msg_flags & MSG_TRUNC) != 0;
    return count;
}

WEFT_OS_CALL ssize_t
socket_send_files(int fd, const void* data, std::size_t size, const int* files, std::size_t count) noexcept {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * files_most)] = {};
    iovec one{const_cast<void*>(data), size};  // only read
    msghdr message{};
    message.msg_iov = &one;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = static_cast<decltype(message.msg_controllen)>(CMSG_SPACE(sizeof(int) * count));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = static_cast<decltype(header->cmsg_len)>(CMSG_LEN(sizeof(int) * count));
    std::memcpy(CMSG_DATA(header), files, sizeof(int) * count);
    return or_errno(::sendmsg(fd, &message, MSG_NOSIGNAL));
}

WEFT_OS_CALL ssize_t
socket_receive_files(int fd, void* into, std::size_t size, int* files, std::size_t& count, bool& cut) noexcept {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * files_most)];
    iovec one{into, size};
    msghdr message{};
    message.msg_iov = &one;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen =
        static_cast<decltype(message.msg_controllen)>(count == 0 ? 0 : CMSG_SPACE(sizeof(int) * count));
    const std::size_t room = count;
    count = 0;
    const ssize_t moved = or_errno(::recvmsg(fd, &message, receive_flags));
    if (moved < 0) return moved;
    cut = (message.msg_flags & MSG_CTRUNC) != 0;
    for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t came = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < came; ++i) {
            int file = -1;
            std::memcpy(&file, CMSG_DATA(h) + i * sizeof(int), sizeof(int));
            finish_received(file);
            if (count < room) {
                files[count++] = file;
            } else {  // padding had room for it
                ::close(file);
                cut = true;
            }
        }
    }
    return moved;
}

WEFT_OS_CALL int socket_make(int family, int type, int protocol) noexcept {
    if (const int error = injected_failure(failure::socket); error != 0) return -error;
    return or_errno(finish_socket(::socket(family, type | socket_flags, protocol)));
}

WEFT_OS_CALL int socket_accept(int fd) noexcept {
    if (const int error = injected_failure(failure::accept); error != 0) return -error;
    return or_errno(accept_socket(fd));
}

WEFT_OS_CALL int socket_connect(int fd, const sockaddr* to, uint32_t to_size) noexcept {
    if (const int error = injected_failure(failure::connect); error != 0) return -error;
    return or_errno(::connect(fd, to, to_size));
}

WEFT_OS_CALL int socket_bind(int fd, const sockaddr* to, uint32_t to_size) noexcept {
    if (const int error = injected_failure(failure::bind); error != 0) return -error;
    return or_errno(::bind(fd, to, to_size));
}

WEFT_OS_CALL int socket_listen(int fd, int backlog) noexcept {
    if (const int error = injected_failure(failure::listen); error != 0) return -error;
    return or_errno(::listen(fd, backlog));
}

WEFT_OS_CALL int socket_shut(int fd, int how) noexcept { return or_errno(::shutdown(fd, how)); }

WEFT_OS_CALL int socket_pair(int type, int (&fds)[2]) noexcept {
    if (const int error = injected_failure(failure::socket_pair); error != 0) return -error;
    const int result = or_errno(::socketpair(AF_UNIX, type | socket_flags, 0, fds));
    for (const int fd : fds) {
        if (result == 0) finish_socket(fd);
    }
    return result;
}

WEFT_OS_CALL int socket_name(int fd, bool of_peer, sockaddr* name, uint32_t& size) noexcept {
    return or_errno(of_peer ? ::getpeername(fd, name, &size) : ::getsockname(fd, name, &size));
}

WEFT_OS_CALL int socket_option(int fd, int level, int option, const void* value, uint32_t size) noexcept {
    if (const int error = injected_failure(failure::socket_option); error != 0) return -error;
    return or_errno(::setsockopt(fd, level, option, value, size));
}

int socket_option(int fd, int level, int option, int value) noexcept {
    return socket_option(fd, level, option, &value, sizeof(value));
}

WEFT_OS_CALL int socket_option_of(int fd, int level, int option, int& value) noexcept {
    socklen_t size = sizeof(value);
    return or_errno(::getsockopt(fd, level, option, &value, &size));
}

WEFT_OS_CALL int make_nonblocking(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    return or_errno(flags < 0 ? flags : ::fcntl(fd, F_SETFL, flags | O_NONBLOCK));
}

WEFT_OS_CALL int fd_close(int fd) noexcept { return or_errno(::close(fd)); }

WEFT_OS_CALL int fd_poll(int fd, short events, short& ready) noexcept {
    pollfd one{fd, events, 0};
    int result = 0;
    do {
        result = or_errno(::poll(&one, 1, 0));
    } while (result == -EINTR);
    ready = one.revents;
    return result;
}

WEFT_OS_CALL int file_unlink(const char* path) noexcept { return or_errno(::unlink(path)); }

}  // namespace weft::detail::os
