// pipe_calls_windows.cc: pipes: see process_calls.h. One is a pair of sockets.
#include <cerrno>

#include "base/time_units.h"
#include "os/fd_calls.h"
#include "os/loopback_pair_windows.h"
#include "os/process_calls.h"
#include "os/sockets.h"
#include "os/std_handles.h"

namespace weft::detail::os {

namespace {

bool was_reset(ssize_t result) noexcept { return result == -ECONNRESET || result == -ECONNABORTED; }

// A socket takes bytes after its peer has closed, and tells it by a reset later.
bool reader_has_gone(int fd) noexcept {
    char any = 0;
    const int got = ::recv(to_socket(fd), &any, 1, MSG_PEEK);
    return got == 0 || (got < 0 && WSAGetLastError() != WSAEWOULDBLOCK);
}

}  // namespace

int pipe_make(int& read_end, int& write_end) noexcept {
    int ends[2];
    const int result = loopback_pair(ends);
    if (result < 0) return result;
    read_end = ends[0];
    write_end = ends[1];
    return 0;
}

ssize_t pipe_read(int fd, void* into, std::size_t size) noexcept {
    const ssize_t result = socket_receive(fd, into, size);
    return was_reset(result) ? 0 : result;
}

ssize_t pipe_write(int fd, const void* from, std::size_t size) noexcept {
    if (reader_has_gone(fd)) return -EPIPE;
    const ssize_t result = socket_send(fd, from, size);
    return was_reset(result) ? -EPIPE : result;
}

bool pipe_await(int fd, int64_t ns) noexcept {
    WSAPOLLFD one{to_socket(fd), POLLIN, 0};
    return WSAPoll(&one, 1, static_cast<int>((ns + ns_per_ms - 1) / ns_per_ms)) == 1;
}

void pipe_close(int fd) noexcept { fd_close(fd); }

}  // namespace weft::detail::os
