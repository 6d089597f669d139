// fd_calls.h: system calls on file descriptors, for the network and file layers.
//
// Each returns the system call's result, or minus errno's value, and is never inlined
// (never_inlined.h).
//
// Threads: any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

struct sockaddr;
struct iovec;

namespace weft::detail::os {

// Sockets. EPIPE comes without a signal.
[[nodiscard]] ssize_t socket_receive(int fd, void* into, std::size_t size) noexcept;
[[nodiscard]] ssize_t socket_send(int fd, const void* from, std::size_t size) noexcept;
[[nodiscard]] ssize_t socket_receive_many(int fd, const iovec* into, std::size_t count) noexcept;
[[nodiscard]] ssize_t socket_send_many(int fd, const iovec* from, std::size_t count) noexcept;
[[nodiscard]] ssize_t send_file(int socket, int file, int64_t& offset, std::size_t count) noexcept;

// Datagrams. to, from: may be nullptr. cut: the datagram was longer than size.
[[nodiscard]] ssize_t socket_send_to(
    int fd, const void* data, std::size_t size, const sockaddr* to, uint32_t to_size) noexcept;
[[nodiscard]] ssize_t socket_receive_from(
    int fd, void* into, std::size_t size, sockaddr* from, uint32_t& from_size, bool& cut) noexcept;

// Reads from a Unix stream and drops descriptors that arrive with the bytes. stopped: a short read
// has ended where descriptors came, or at bytes of another sender if the socket distinguishes
// senders. Otherwise it has left nothing.
[[nodiscard]] ssize_t socket_receive_dropping_files(int fd,
                                                    const iovec* into,
                                                    std::size_t count,
                                                    bool& stopped) noexcept;

// Whether a Unix socket may have a name that is not a path.
[[nodiscard]] bool has_abstract_names() noexcept;

// Descriptors sent with bytes over a Unix socket, at most files_most. count: the capacity, then the
// number received. cut: some did not fit, and are closed.
inline constexpr std::size_t files_most = 253;
[[nodiscard]] ssize_t socket_send_files(
    int fd, const void* data, std::size_t size, const int* files, std::size_t count) noexcept;
[[nodiscard]] ssize_t socket_receive_files(
    int fd, void* into, std::size_t size, int* files, std::size_t& count, bool& cut) noexcept;

// New sockets are non-blocking, and not inherited by executed programs.
[[nodiscard]] int socket_make(int family, int type, int protocol) noexcept;
[[nodiscard]] int socket_accept(int fd) noexcept;
[[nodiscard]] int socket_connect(int fd, const sockaddr* to, uint32_t to_size) noexcept;
[[nodiscard]] int socket_bind(int fd, const sockaddr* to, uint32_t to_size) noexcept;
[[nodiscard]] int socket_listen(int fd, int backlog) noexcept;
[[nodiscard]] int socket_shut(int fd, int how) noexcept;
[[nodiscard]] int socket_pair(int type, int (&fds)[2]) noexcept;  // of Unix sockets
[[nodiscard]] int socket_name(int fd, bool of_peer, sockaddr* name, uint32_t& size) noexcept;
[[nodiscard]] int socket_option(int fd, int level, int option, int value) noexcept;
[[nodiscard]] int socket_option(int fd, int level, int option, const void* value, uint32_t size) noexcept;
[[nodiscard]] int socket_option_of(int fd, int level, int option, int& value) noexcept;

// AF_INET or another.
[[nodiscard]] int socket_family(int fd, int& family) noexcept;

// The option of TCP for the idle time before the first keep-alive probe.
[[nodiscard]] int tcp_idle_option() noexcept;

[[nodiscard]] int socket_peer(int fd, int64_t& pid, uint32_t& uid, uint32_t& gid) noexcept;

[[nodiscard]] int make_nonblocking(int fd) noexcept;
int fd_close(int fd) noexcept;

// Whether a read (POLLIN) or write (POLLOUT) would not wait. Does not wait.
[[nodiscard]] int fd_poll(int fd, short events, short& ready) noexcept;

int file_unlink(const char* path) noexcept;

}  // namespace weft::detail::os
