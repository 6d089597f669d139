// fd_calls_linux.cc: see fd_calls.h.
#include <fcntl.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/fd_calls.h"
#include "os/never_inlined.h"
#include "os/sigpipe.h"

namespace weft::detail::os {

WEFT_OS_CALL ssize_t socket_receive(int fd, void* into, std::size_t size) noexcept {
    return or_errno(::recv(fd, into, size, 0));
}

WEFT_OS_CALL ssize_t socket_send(int fd, const void* from, std::size_t size) noexcept {
    return or_errno(::send(fd, from, size, MSG_NOSIGNAL));
}

WEFT_OS_CALL ssize_t socket_receive_many(int fd, const iovec* into, std::size_t count) noexcept {
    return or_errno(::readv(fd, into, static_cast<int>(count)));
}

WEFT_OS_CALL ssize_t socket_send_many(int fd, const iovec* from, std::size_t count) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(from);  // only read
    message.msg_iovlen = count;
    return or_errno(::sendmsg(fd, &message, MSG_NOSIGNAL));
}

WEFT_OS_CALL ssize_t send_file(int socket, int file, int64_t& offset, std::size_t count) noexcept {
    const sigpipe_held_back signal;
    off_t at = offset;
    const ssize_t sent = or_errno(::sendfile(socket, file, &at, count));
    // After a partial success, sendfile does not report the step that raises the signal.
    if (sent == -EPIPE || (sent >= 0 && static_cast<std::size_t>(sent) < count)) signal.take();
    offset = at;
    return sent;
}

WEFT_OS_CALL ssize_t
socket_send_to(int fd, const void* data, std::size_t size, const sockaddr* to, uint32_t to_size) noexcept {
    return or_errno(::sendto(fd, data, size, MSG_NOSIGNAL, to, to_size));
}

WEFT_OS_CALL ssize_t
socket_receive_from(int fd, void* into, std::size_t size, sockaddr* from, uint32_t& from_size, bool& cut) noexcept {
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

WEFT_OS_CALL ssize_t socket_receive_dropping_files(int fd,
                                                   const iovec* into,
                                                   std::size_t count,
                                                   bool& stopped) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(into);  // only read
    message.msg_iovlen = count;
    const ssize_t moved = or_errno(::recvmsg(fd, &message, 0));
    // Without a control buffer all ancillary data is truncated.
    stopped = (message.msg_flags & MSG_CTRUNC) != 0;
    return moved;
}

WEFT_OS_CALL ssize_t
socket_send_files(int fd, const void* data, std::size_t size, const int* files, std::size_t count) noexcept {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * files_most)] = {};
    iovec one{const_cast<void*>(data), size};  // only read
    msghdr message{};
    message.msg_iov = &one;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * count);
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
    message.msg_controllen = count == 0 ? 0 : CMSG_SPACE(sizeof(int) * count);
    const std::size_t room = count;
    count = 0;
    const ssize_t moved = or_errno(::recvmsg(fd, &message, MSG_CMSG_CLOEXEC));
    if (moved < 0) return moved;
    cut = (message.msg_flags & MSG_CTRUNC) != 0;
    for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t came = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < came; ++i) {
            int file = -1;
            std::memcpy(&file, CMSG_DATA(h) + i * sizeof(int), sizeof(int));
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
    return or_errno(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
}

WEFT_OS_CALL int socket_accept(int fd) noexcept {
    return or_errno(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

WEFT_OS_CALL int socket_connect(int fd, const sockaddr* to, uint32_t to_size) noexcept {
    return or_errno(::connect(fd, to, to_size));
}

WEFT_OS_CALL int socket_bind(int fd, const sockaddr* to, uint32_t to_size) noexcept {
    return or_errno(::bind(fd, to, to_size));
}

WEFT_OS_CALL int socket_listen(int fd, int backlog) noexcept { return or_errno(::listen(fd, backlog)); }

WEFT_OS_CALL int socket_shut(int fd, int how) noexcept { return or_errno(::shutdown(fd, how)); }

WEFT_OS_CALL int socket_pair(int type, int (&fds)[2]) noexcept {
    return or_errno(::socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
}

WEFT_OS_CALL int socket_name(int fd, bool of_peer, sockaddr* name, uint32_t& size) noexcept {
    return or_errno(of_peer ? ::getpeername(fd, name, &size) : ::getsockname(fd, name, &size));
}

WEFT_OS_CALL int socket_option(int fd, int level, int option, const void* value, uint32_t size) noexcept {
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

WEFT_OS_CALL int socket_peer(int fd, int64_t& pid, uint32_t& uid, uint32_t& gid) noexcept {
    ucred who{};
    socklen_t size = sizeof(who);
    const int result = or_errno(::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size));
    pid = who.pid;
    uid = who.uid;
    gid = who.gid;
    return result;
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
