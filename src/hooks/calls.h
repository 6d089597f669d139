// calls.h: the real functions that more than one file of weft::hooks calls, and what keeps the
// files together.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "hooks/real.h"

namespace weft::hooks {

extern const real<int(pollfd*, nfds_t, int)> real_poll;

// Each defines functions of the C library. link.cc calls them, so that a linker which takes one
// file of the static library takes all.
void use_sockets() noexcept;
void use_files() noexcept;
void use_poll() noexcept;
void use_sleeps() noexcept;
void use_closes() noexcept;
void use_system() noexcept;

// What send, recv, sendmsg and recvmsg do in a green thread. ENOTSOCK, with nothing done, if fd is
// not a socket. Requires: may_park.
ssize_t send_all(int fd, const void* data, size_t size, int flags, const sockaddr* to, socklen_t to_size) noexcept;
ssize_t receive(int fd, void* into, size_t size, int flags, sockaddr* from, socklen_t* from_size) noexcept;
ssize_t send_message(int fd, const msghdr* message, int flags) noexcept;
ssize_t receive_message(int fd, msghdr* message, int flags) noexcept;

}  // namespace weft::hooks
