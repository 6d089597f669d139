// process_calls_posix.cc: pipes: see process_calls.h.
#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "os/file_calls.h"
#include "os/never_inlined.h"
#include "os/new_descriptor.h"
#include "os/poll_one.h"
#include "os/process_calls.h"

namespace weft::detail::os {

namespace {

int out_of_the_way(int fd) noexcept {
    if (fd > 2) return fd;
    const int moved = or_errno(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    ::close(fd);
    return moved;
}

}  // namespace

int process_number() noexcept { return ::getpid(); }

WEFT_OS_CALL int pipe_make(int& read_end, int& write_end) noexcept {
    int ends[2];
    const int result = or_errno(make_pipe(ends));
    if (result < 0) return result;
    read_end = out_of_the_way(ends[0]);
    write_end = out_of_the_way(ends[1]);
    if (read_end >= 0 && write_end >= 0) return 0;
    const int error = read_end < 0 ? read_end : write_end;
    if (read_end >= 0) ::close(read_end);
    if (write_end >= 0) ::close(write_end);
    return error;
}

WEFT_OS_CALL ssize_t pipe_read(int fd, void* into, std::size_t size) noexcept {
    return or_errno(::read(fd, into, size));
}

WEFT_OS_CALL ssize_t pipe_write(int fd, const void* from, std::size_t size) noexcept {
    const iovec all{const_cast<void*>(from), size};  // only read
    return stream_write(fd, &all, 1, own_position);
}

WEFT_OS_CALL bool pipe_await(int fd, int64_t ns) noexcept {
    pollfd readable{fd, POLLIN, 0};
    return poll_one(readable, ns) == 1;
}

void pipe_close(int fd) noexcept { ::close(fd); }

}  // namespace weft::detail::os
