// fd_calls.h: os/fd_calls.h for descriptors of the system and of simulations.
//
// The names and results are the same. Each call on a simulated socket is a step of its simulation.
//
// Threads: any thread.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <weft/detail/step.h>

#include "netpoll/poll_desc.h"
#include "os/fd_calls.h"
#include "os/file_calls.h"
#include "os/sockets.h"
#include "sched/simulated_fds.h"
#include "sched/simulated_files.h"

namespace weft::detail::fds {

// f(simulated_fds&), for the descriptor fd, which is one of these.
template <typename F>
[[gnu::noinline, gnu::cold]] auto simulated(int fd, F f) noexcept {
    using result = decltype(f(*simulated_fds_of(fd)));
    simulated_fds* all = simulated_fds_of(fd);
    return all == nullptr ? static_cast<result>(-EBADF) : f(*all);
}

template <typename F>
[[gnu::noinline, gnu::cold]] auto simulated_step(int fd, operation what, F f) noexcept {
    take_step(what, poll_desc::of(fd));
    return simulated(fd, f);
}

[[nodiscard, gnu::always_inline]] inline ssize_t socket_receive(int fd, void* into, std::size_t size) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]] {
        return simulated_step(fd, operation::socket_receive, [=](simulated_fds& all) {
            const iovec one{into, size};
            return all.receive(fd, &one, 1);
        });
    }
    return os::socket_receive(fd, into, size);
}

[[nodiscard, gnu::always_inline]] inline ssize_t socket_send(int fd, const void* from, std::size_t size) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]] {
        return simulated_step(fd, operation::socket_send, [=](simulated_fds& all) {
            const iovec one{const_cast<void*>(from), size};
            return all.send(fd, &one, 1);
        });
    }
    return os::socket_send(fd, from, size);
}

[[nodiscard]] inline ssize_t socket_receive_many(int fd, const iovec* into, std::size_t count) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated_step(fd, operation::socket_receive, [=](auto& all) { return all.receive(fd, into, count); });
    return os::socket_receive_many(fd, into, count);
}

[[nodiscard]] inline ssize_t socket_send_many(int fd, const iovec* from, std::size_t count) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated_step(fd, operation::socket_send, [=](auto& all) { return all.send(fd, from, count); });
    return os::socket_send_many(fd, from, count);
}

[[nodiscard]] inline ssize_t send_file(int socket, int file, int64_t& offset, std::size_t count) noexcept {
    if (!is_simulated_fd(socket)) [[likely]]
        return os::send_file(socket, file, offset, count);
    return simulated_step(socket, operation::socket_send, [&](simulated_fds& all) -> int64_t {
        char bytes[16 * 1024];
        iovec part{bytes, std::min(count, sizeof(bytes))};
        simulated_files* files = is_simulated_fd(file) ? simulated_files_of(file) : nullptr;
        if (files == nullptr && is_simulated_fd(file)) return -EBADF;
        const int64_t got =
            files != nullptr ? files->read(file, &part, 1, offset) : os::file_read(file, &part, 1, offset);
        if (got == -host_crashed) return -ECONNABORTED;  // as a socket
        if (got <= 0) return got;
        part.iov_len = static_cast<std::size_t>(got);
        const int64_t sent = all.send(socket, &part, 1);
        if (sent > 0) offset += sent;
        return sent;
    });
}

[[nodiscard]] inline ssize_t socket_send_to(
    int fd, const void* data, std::size_t size, const sockaddr* to, uint32_t to_size) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]] {
        return simulated_step(fd, operation::socket_send,
                              [=](auto& all) { return all.send_to(fd, data, size, to, to_size); });
    }
    return os::socket_send_to(fd, data, size, to, to_size);
}

[[nodiscard]] inline ssize_t socket_receive_from(
    int fd, void* into, std::size_t size, sockaddr* from, uint32_t& from_size, bool& cut) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]] {
        return simulated_step(fd, operation::socket_receive,
                              [&](auto& all) { return all.receive_from(fd, into, size, from, from_size, cut); });
    }
    return os::socket_receive_from(fd, into, size, from, from_size, cut);
}

[[nodiscard]] inline ssize_t socket_receive_dropping_files(int fd,
                                                           const iovec* into,
                                                           std::size_t count,
                                                           bool& stopped) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]] {
        stopped = false;
        return socket_receive_many(fd, into, count);
    }
    return os::socket_receive_dropping_files(fd, into, count, stopped);
}

// A simulation has no descriptors to send.
[[nodiscard]] inline ssize_t socket_send_files(
    int fd, const void* data, std::size_t size, const int* files, std::size_t count) noexcept {
    return is_simulated_fd(fd) ? -EOPNOTSUPP : os::socket_send_files(fd, data, size, files, count);
}

[[nodiscard]] inline ssize_t socket_receive_files(
    int fd, void* into, std::size_t size, int* files, std::size_t& count, bool& cut) noexcept {
    if (!is_simulated_fd(fd)) [[likely]]
        return os::socket_receive_files(fd, into, size, files, count, cut);
    count = 0;
    cut = false;
    return socket_receive(fd, into, size);
}

[[nodiscard]] inline int socket_make(int family, int type, int protocol) noexcept {
    if (simulates()) [[unlikely]] {
        if (simulated_fds* all = simulated_fds_of_caller()) return all->make(family, type);
    }
    return os::socket_make(family, type, protocol);
}

[[nodiscard]] inline int socket_pair(int type, int (&made)[2]) noexcept {
    if (simulates()) [[unlikely]] {
        if (simulated_fds* all = simulated_fds_of_caller()) return all->make_pair(type, made);
    }
    return os::socket_pair(type, made);
}

[[nodiscard, gnu::always_inline]] inline int socket_accept(int fd) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated_step(fd, operation::socket_accept, [=](auto& all) { return all.accept(fd); });
    return os::socket_accept(fd);
}

[[nodiscard]] inline int socket_connect(int fd, const sockaddr* to, uint32_t to_size) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated_step(fd, operation::socket_connect, [=](auto& all) { return all.connect(fd, to, to_size); });
    return os::socket_connect(fd, to, to_size);
}

[[nodiscard]] inline int socket_bind(int fd, const sockaddr* to, uint32_t to_size) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated(fd, [=](auto& all) { return all.bind(fd, to, to_size); });
    return os::socket_bind(fd, to, to_size);
}

[[nodiscard]] inline int socket_listen(int fd, int backlog) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated(fd, [=](auto& all) { return all.listen(fd, backlog); });
    return os::socket_listen(fd, backlog);
}

[[nodiscard]] inline int socket_shut(int fd, int how) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated_step(fd, operation::socket_close, [=](auto& all) { return all.shut(fd, how); });
    return os::socket_shut(fd, how);
}

[[nodiscard]] inline int socket_name(int fd, bool of_peer, sockaddr* name, uint32_t& size) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated(fd, [&](auto& all) { return all.name(fd, of_peer, name, size); });
    return os::socket_name(fd, of_peer, name, size);
}

[[nodiscard]] inline int socket_option(int fd, int level, int option, const void* value, uint32_t size) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated(fd, [=](auto& all) { return all.set_option(fd, level, option, value, size); });
    return os::socket_option(fd, level, option, value, size);
}

[[nodiscard]] inline int socket_option(int fd, int level, int option, int value) noexcept {
    return socket_option(fd, level, option, &value, sizeof(value));
}

[[nodiscard]] inline int socket_option_of(int fd, int level, int option, int& value) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated(fd, [=, &value](auto& all) { return all.option(fd, level, option, value); });
    return os::socket_option_of(fd, level, option, value);
}

[[nodiscard]] inline int socket_family(int fd, int& family) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated(fd, [=, &family](auto& all) { return all.family(fd, family); });
    return os::socket_family(fd, family);
}

// In a simulation: a process that does not exist.
[[nodiscard]] inline int socket_peer(int fd, int64_t& pid, uint32_t& uid, uint32_t& gid) noexcept {
    if (!is_simulated_fd(fd)) [[likely]]
        return os::socket_peer(fd, pid, uid, gid);
    pid = 1;
    uid = gid = 0;
    return 0;
}

[[nodiscard]] inline int make_nonblocking(int fd) noexcept {
    return is_simulated_fd(fd) ? 0 : os::make_nonblocking(fd);
}

inline int fd_close(int fd) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated_step(fd, operation::socket_close, [=](auto& all) { return all.close(fd); });
    return os::fd_close(fd);
}

[[nodiscard]] inline int fd_poll(int fd, short events, short& ready) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return simulated(fd, [=, &ready](auto& all) { return all.poll(fd, events, ready); });
    return os::fd_poll(fd, events, ready);
}

}  // namespace weft::detail::fds
