// sockets.h: the system's declarations of sockets, and of poll().
//
// POSIX names that Windows lacks have values here that its calls refuse.
//
// Threads: any thread.
#pragma once

#if defined(_WIN32)

#include <cstddef>

// clang-format off
#include "os/windows_api.h"
#include <iphlpapi.h>
#include <afunix.h>
// clang-format on

struct iovec {
    void* iov_base;
    std::size_t iov_len;
};

#define SHUT_RD SD_RECEIVE
#define SHUT_WR SD_SEND
#define SHUT_RDWR SD_BOTH
#if !defined(SO_REUSEPORT)
#define SO_REUSEPORT 0x7fff
#endif

// Newer than some headers.
#if !defined(TCP_KEEPIDLE)
#define TCP_KEEPIDLE 3
#endif
#if !defined(TCP_KEEPCNT)
#define TCP_KEEPCNT 16
#endif
#if !defined(TCP_KEEPINTVL)
#define TCP_KEEPINTVL 17
#endif

namespace weft::detail::os {

// Before the first call that is not one of fd_calls.h.
void start_sockets() noexcept;

}  // namespace weft::detail::os

#else

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>

namespace weft::detail::os {

inline void start_sockets() noexcept {}

}  // namespace weft::detail::os

#endif
