// sockets.cc: recv, send, accept, connect and their relatives.
//
// Each is tried with MSG_DONTWAIT, so O_NONBLOCK of the descriptor never changes. A call that would
// block asks for O_NONBLOCK and for the timeout of the socket, and waits.
//
// As in the kernel, a blocking send returns when everything is sent. A timeout, a cancellation or
// an error after a part of it returns the length of that part.
//
// accept has no such flag. It waits until a connection is there, and is then a blocking call
// (weft::blocking), because a process or thread may have taken the connection meanwhile.
//
// connect has none either. On TCP sockets O_NONBLOCK is set for the duration of the system call,
// some microseconds: a socket that connects is used by no other call. Other sockets connect at once
// or, if a Unix socket's queue is full, not at all: they connect in a blocking call.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <weft/blocking.h>

#include "hooks/calls.h"
#include "hooks/wait_io.h"

namespace weft::hooks {

namespace {

constinit const real<ssize_t(int, void*, size_t, int)> real_recv("recv");
constinit const real<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> real_recvfrom("recvfrom");
constinit const real<ssize_t(int, msghdr*, int)> real_recvmsg("recvmsg");
constinit const real<ssize_t(int, const void*, size_t, int)> real_send("send");
constinit const real<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> real_sendto("sendto");
constinit const real<ssize_t(int, const msghdr*, int)> real_sendmsg("sendmsg");
constinit const real<int(int, sockaddr*, socklen_t*)> real_accept("accept");
constinit const real<int(int, sockaddr*, socklen_t*, int)> real_accept4("accept4");
constinit const real<int(int, const sockaddr*, socklen_t)> real_connect("connect");

bool is_stream(int fd) noexcept {
    int type = 0;
    socklen_t size = sizeof(type);
    return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

// What a call that has moved done bytes returns for the result of its last part.
ssize_t or_done(ssize_t result, size_t done) noexcept {
    return result < 0 && done != 0 ? static_cast<ssize_t>(done) : result;
}

// Calls part(done), which moves what it can without blocking of the rest, until all size bytes are
// moved. Requires: the first call has moved done bytes, more than 0 and less than size, or has
// found EAGAIN.
template <typename Part>
ssize_t move_rest(int fd, bool writes, size_t done, size_t size, Part part) noexcept {
    if (is_nonblocking(fd)) return done != 0 ? static_cast<ssize_t>(done) : fail(EAGAIN);
    const int64_t deadline_ns = deadline_of_socket(fd, writes);
    while (done < size) {
        const ssize_t moved = wait_and_try(fd, writes, deadline_ns, [&] { return part(done); });
        if (moved < 0) return or_done(moved, done);
        if (moved == 0) break;
        done += static_cast<size_t>(moved);
    }
    return static_cast<ssize_t>(done);
}

// A copy of a message's parts from byte done on.
class parts_after {
public:
    parts_after(const msghdr& message, size_t done) : parts_(message.msg_iov, message.msg_iov + message.msg_iovlen) {
        size_t first = 0;
        while (first < parts_.size() && done >= parts_[first].iov_len) done -= parts_[first++].iov_len;
        parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(first));
        if (parts_.empty()) return;
        parts_[0].iov_base = static_cast<char*>(parts_[0].iov_base) + done;
        parts_[0].iov_len -= done;
    }

    [[nodiscard]] iovec* data() noexcept { return parts_.data(); }

    [[nodiscard]] size_t count() const noexcept { return parts_.size(); }

private:
    std::vector<iovec> parts_;
};

size_t size_of(const msghdr& message) noexcept {
    size_t size = 0;
    for (size_t i = 0; i < message.msg_iovlen; ++i) size += message.msg_iov[i].iov_len;
    return size;
}

// Whether a short receive must wait for the rest.
bool waits_for_all(int fd, int flags, size_t moved, size_t size) noexcept {
    return (flags & MSG_WAITALL) != 0 && moved != 0 && moved < size && is_stream(fd);
}

// Never waits, or not in a way that is known here.
constexpr int not_for_us = MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB;

constexpr bool peeks_at_all(int flags) noexcept {
    return (flags & (MSG_PEEK | MSG_WAITALL)) == (MSG_PEEK | MSG_WAITALL);
}

int accept_parked(int fd, sockaddr* from, socklen_t* from_size, int flags) noexcept {
    const auto accept_now = [&] { return real_accept4(fd, from, from_size, flags); };
    if (is_nonblocking(fd)) return accept_now();
    if (!is_ready(fd, POLLIN)) {
        const int64_t deadline_ns = deadline_of_socket(fd, false);
        foreign_fd waits(fd, false);
        for (;;) {
            waits.begin();
            if (is_ready(fd, POLLIN)) break;
            const foreign_end end = waits.wait(deadline_ns);
            if (end == foreign_end::failed) break;
            if (end != foreign_end::again) return fail(error_of(end, EAGAIN));
        }
    }
    return blocking(accept_now);
}

bool is_tcp(int fd) noexcept {
    int domain = 0;
    socklen_t size = sizeof(domain);
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && (domain == AF_INET || domain == AF_INET6) &&
           is_stream(fd);
}

// The result of a connect that has begun.
int connect_result(int fd) noexcept {
    int error = 0;
    socklen_t size = sizeof(error);
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return -1;
    return error == 0 ? 0 : fail(error);
}

int connect_parked(int fd, const sockaddr* to, socklen_t size) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK) != 0) return real_connect(fd, to, size);
    if (!is_tcp(fd)) return blocking([&] { return real_connect(fd, to, size); });
    const int64_t deadline_ns = deadline_of_socket(fd, true);
    ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    const int result = real_connect(fd, to, size);
    const int error = last_error();
    ::fcntl(fd, F_SETFL, flags);
    if (result == 0) return 0;
    if (error != EINPROGRESS && error != EALREADY) return fail(error);
    foreign_fd waits(fd, true);
    for (;;) {
        waits.begin();
        if (is_ready(fd, POLLOUT)) return connect_result(fd);
        const foreign_end end = waits.wait(deadline_ns);
        if (end != foreign_end::again) return fail(error_of(end, EINPROGRESS));
    }
}

}  // namespace

ssize_t receive(int fd, void* into, size_t size, int flags, sockaddr* from, socklen_t* from_size) noexcept {
    const socklen_t room = from_size == nullptr ? 0 : *from_size;
    const auto part = [&](size_t done) {
        if (from == nullptr || from_size == nullptr)
            return real_recv(fd, static_cast<char*>(into) + done, size - done, flags | MSG_DONTWAIT);
        *from_size = room;
        return real_recvfrom(fd, static_cast<char*>(into) + done, size - done, flags | MSG_DONTWAIT, from, from_size);
    };
    const ssize_t moved = call_socket(fd, false, [&] { return part(0); });
    if (moved > 0 && waits_for_all(fd, flags, static_cast<size_t>(moved), size)) [[unlikely]]
        return move_rest(fd, false, static_cast<size_t>(moved), size, part);
    return moved;
}

ssize_t receive_message(int fd, msghdr* message, int flags) noexcept {
    const msghdr before = *message;
    const auto all = [&] {
        *message = before;  // what a call that failed has changed
        return real_recvmsg(fd, message, flags | MSG_DONTWAIT);
    };
    const ssize_t moved = call_socket(fd, false, all);
    const size_t size = size_of(*message);
    if (moved <= 0 || !waits_for_all(fd, flags, static_cast<size_t>(moved), size)) [[likely]]
        return moved;
    return move_rest(fd, false, static_cast<size_t>(moved), size, [&](size_t done) -> ssize_t {
        try {
            parts_after rest(before, done);
            msghdr more{};
            more.msg_iov = rest.data();
            more.msg_iovlen = rest.count();
            return real_recvmsg(fd, &more, flags | MSG_DONTWAIT);
        } catch (const std::bad_alloc&) {
            return fail(ENOMEM);
        }
    });
}

ssize_t send_all(int fd, const void* data, size_t size, int flags, const sockaddr* to, socklen_t to_size) noexcept {
    const auto part = [&](size_t done) {
        const char* from = static_cast<const char*>(data) + done;
        // The kernel raises SIGPIPE only for a call that has sent nothing.
        const int how = flags | MSG_DONTWAIT | (done != 0 ? MSG_NOSIGNAL : 0);
        if (to == nullptr) return real_send(fd, from, size - done, how);
        return real_sendto(fd, from, size - done, how, to, to_size);
    };
    const ssize_t moved = part(0);
    if (moved < 0 ? last_error() != EAGAIN : static_cast<size_t>(moved) == size) [[likely]]
        return moved;
    return move_rest(fd, true, moved < 0 ? 0 : static_cast<size_t>(moved), size, part);
}

ssize_t send_message(int fd, const msghdr* message, int flags) noexcept {
    const ssize_t moved = real_sendmsg(fd, message, flags | MSG_DONTWAIT);
    const size_t size = size_of(*message);
    if (moved < 0 ? last_error() != EAGAIN : static_cast<size_t>(moved) == size) [[likely]]
        return moved;
    return move_rest(fd, true, moved < 0 ? 0 : static_cast<size_t>(moved), size, [&](size_t done) -> ssize_t {
        if (done == 0) return real_sendmsg(fd, message, flags | MSG_DONTWAIT);
        try {
            parts_after rest(*message, done);
            msghdr more{};  // what goes with the message went with its first byte
            more.msg_iov = rest.data();
            more.msg_iovlen = rest.count();
            return real_sendmsg(fd, &more, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
        } catch (const std::bad_alloc&) {
            return fail(ENOMEM);
        }
    });
}

void use_sockets() noexcept {}

}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {

ssize_t recv(int fd, void* into, size_t size, int flags) {
    if ((flags & not_for_us) != 0 || !may_park() || is_own_fd(fd)) return real_recv(fd, into, size, flags);
    if (peeks_at_all(flags)) return weft::blocking([&] { return real_recv(fd, into, size, flags); });
    return receive(fd, into, size, flags, nullptr, nullptr);
}

ssize_t recvfrom(int fd, void* into, size_t size, int flags, sockaddr* from, socklen_t* from_size) {
    if ((flags & not_for_us) != 0 || !may_park() || is_own_fd(fd))
        return real_recvfrom(fd, into, size, flags, from, from_size);
    if (peeks_at_all(flags))
        return weft::blocking([&] { return real_recvfrom(fd, into, size, flags, from, from_size); });
    return receive(fd, into, size, flags, from, from_size);
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
    if ((flags & not_for_us) != 0 || !may_park() || is_own_fd(fd)) return real_recvmsg(fd, message, flags);
    if (peeks_at_all(flags)) return weft::blocking([&] { return real_recvmsg(fd, message, flags); });
    return receive_message(fd, message, flags);
}

ssize_t send(int fd, const void* data, size_t size, int flags) {
    if ((flags & MSG_DONTWAIT) != 0 || !may_park() || is_own_fd(fd)) return real_send(fd, data, size, flags);
    return send_all(fd, data, size, flags, nullptr, 0);
}

ssize_t sendto(int fd, const void* data, size_t size, int flags, const sockaddr* to, socklen_t to_size) {
    if ((flags & MSG_DONTWAIT) != 0 || !may_park() || is_own_fd(fd))
        return real_sendto(fd, data, size, flags, to, to_size);
    return send_all(fd, data, size, flags, to, to_size);
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
    if ((flags & MSG_DONTWAIT) != 0 || !may_park() || is_own_fd(fd)) return real_sendmsg(fd, message, flags);
    return send_message(fd, message, flags);
}

int accept(int fd, sockaddr* from, socklen_t* from_size) {
    if (!may_park() || is_own_fd(fd)) return real_accept(fd, from, from_size);
    return accept_parked(fd, from, from_size, 0);
}

int accept4(int fd, sockaddr* from, socklen_t* from_size, int flags) {
    if (!may_park() || is_own_fd(fd)) return real_accept4(fd, from, from_size, flags);
    return accept_parked(fd, from, from_size, flags);
}

int connect(int fd, const sockaddr* to, socklen_t size) {
    if (!may_park() || is_own_fd(fd)) return real_connect(fd, to, size);
    return connect_parked(fd, to, size);
}

// What programs call that are compiled with _FORTIFY_SOURCE.
[[noreturn]] void __chk_fail();

ssize_t __recv_chk(int fd, void* into, size_t size, size_t room, int flags) {
    if (size > room) __chk_fail();
    return recv(fd, into, size, flags);
}

ssize_t __recvfrom_chk(int fd, void* into, size_t size, size_t room, int flags, sockaddr* from, socklen_t* from_size) {
    if (size > room) __chk_fail();
    return recvfrom(fd, into, size, flags, from, from_size);
}
}
