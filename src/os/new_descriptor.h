// new_descriptor.h: makes descriptors that executed programs do not inherit.
//
// macOS cannot make them so in one call. A program that is started in between inherits them.
//
// Threads: any thread. errno is the calls'.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weft::detail::os {

#if defined(SOCK_CLOEXEC)

inline constexpr int socket_flags = SOCK_CLOEXEC | SOCK_NONBLOCK;

// A descriptor of socket() or socketpair() with socket_flags.
inline int finish_socket(int fd) noexcept { return fd; }

inline int accept_socket(int fd) noexcept { return ::accept4(fd, nullptr, nullptr, socket_flags); }

inline int make_pipe(int (&ends)[2]) noexcept { return ::pipe2(ends, O_CLOEXEC); }

#else

inline constexpr int socket_flags = 0;

inline int finish_socket(int fd) noexcept {
    if (fd < 0) return fd;
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on));
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

inline int accept_socket(int fd) noexcept { return finish_socket(::accept(fd, nullptr, nullptr)); }

inline int make_pipe(int (&ends)[2]) noexcept {
    const int result = ::pipe(ends);
    for (const int fd : ends) {
        if (result == 0) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return result;
}

#endif

}  // namespace weft::detail::os
