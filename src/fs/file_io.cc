// file_io.cc: see file_io.h.
#include "fs/file_io.h"

#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include <weft/blocking.h>

#include "fs/file_ring.h"
#include "os/fd_calls.h"
#include "os/file_calls.h"

namespace weft::detail {

namespace {

io_result result_of(ssize_t moved) noexcept {
    if (moved < 0) return {-1, static_cast<int>(-moved), io_result::how::failed};
    return {moved, 0, io_result::how::done};
}

file_way way_of(int fd, bool is_polled) noexcept {
    os::file_status s{};
    if (os::file_status_of(fd, s) != 0) return file_way::called;
    switch (s.kind) {
        case os::file_kind::regular:
        case os::file_kind::block:
            return file_way::stored;
        case os::file_kind::directory:
        case os::file_kind::symlink:
            return file_way::called;
        case os::file_kind::fifo:
        case os::file_kind::socket:
            return is_polled ? file_way::polled : file_way::asked;
        default:
            if (os::can_be_polled(fd) <= 0) return file_way::called;
            return is_polled ? file_way::polled : file_way::asked;
    }
}

// R2. What is not more than 0 is to be asked in the ordinary way.
ssize_t read_by_ring(int fd, const iovec* into, std::size_t count, int64_t offset) {
    file_ring* ring = file_ring::of_caller();
    if (ring == nullptr) return -EAGAIN;
    const bool at_position = offset == os::own_position;
    const int64_t from = at_position ? os::file_seek(fd, 0, os::seek_from::current) : offset;
    if (from < 0) return -EAGAIN;
    const int got = ring->run({fd, into, static_cast<uint32_t>(count), from, 0});
    return at_position ? os::try_file_read(fd, into, count, offset) : got;
}

ssize_t read_stored(int fd, const iovec* into, std::size_t count, int64_t offset) {
    ssize_t got = os::try_file_read(fd, into, count, offset);  // R1
    if (got == -EAGAIN) got = read_by_ring(fd, into, count, offset);
    if (got > 0) return got;
    return blocking([&] { return os::file_read(fd, into, count, offset); });  // R3
}

// Whether a read or write would not wait, and nothing more: an error is for the call to find.
bool is_ready(int fd, short events) noexcept {
    short ready = 0;
    return os::fd_poll(fd, events, ready) != 0 && ready != 0;
}

bool has_hung_up(int fd) noexcept {
    short ready = 0;
    return os::fd_poll(fd, POLLIN, ready) < 0 || (ready & POLLHUP) != 0;
}

// A FIFO that waits for its first writer looks like one whose last writer has left. Of terminals and sockets a read of 0 is the end.
bool awaits_first_writer(int fd) noexcept {
    os::file_status s{};
    return os::file_status_of(fd, s) == 0 && s.kind == os::file_kind::fifo && !has_hung_up(fd);
}

// These two return as the system call, and -EAGAIN where it would wait.
ssize_t try_read(int fd, file_way way, const iovec* into, std::size_t count, int64_t offset) {
    if (way == file_way::polled) {
        const ssize_t got = os::file_read(fd, into, count, offset);
        return got == 0 && awaits_first_writer(fd) ? -EAGAIN : got;
    }
    const ssize_t got = os::try_file_read(fd, into, count, offset);
    if (got > 0) return got;
    if (!is_ready(fd, POLLIN)) return -EAGAIN;
    return blocking([&] { return os::file_read(fd, into, count, offset); });
}

ssize_t try_write(int fd, file_way way, const iovec* from, std::size_t count, int64_t offset) {
    if (way == file_way::polled) return os::stream_write(fd, from, count, offset);
    if (!is_ready(fd, POLLOUT)) return -EAGAIN;
    const iovec first{from->iov_base, std::min<std::size_t>(from->iov_len, PIPE_BUF)};
    return blocking([&] { return os::stream_write(fd, &first, 1, offset); });
}

bool may_wait(file_way way) noexcept { return way == file_way::polled || way == file_way::asked; }

}  // namespace

file_way way_of_opened(int fd, bool is_nonblocking) noexcept {
    const file_way way = way_of(fd, true);
    if (way == file_way::polled && !is_nonblocking && os::make_nonblocking(fd) != 0) return file_way::asked;
    // Another file has taken the place of a FIFO meanwhile.
    if (way != file_way::polled && is_nonblocking) static_cast<void>(os::make_blocking(fd));
    return way;
}

file_way way_of_adopted(int fd) noexcept { return way_of(fd, os::is_nonblocking(fd)); }

io_result read_file_piece(const fd_use& use, file_way way, const iovec* into, std::size_t count, int64_t offset) {
    poll_desc& d = use.desc();
    const int fd = d.fd();
    if (way == file_way::stored) return result_of(read_stored(fd, into, count, offset));
    if (!may_wait(way)) return result_of(blocking([&] { return os::file_read(fd, into, count, offset); }));
    return call_fd(
        use, d.in, wait_reason::fd_readable, may_leave_some, [&] { return try_read(fd, way, into, count, offset); },
        [] { return never; });
}

io_result write_file_piece(const fd_use& use, file_way way, const iovec* from, std::size_t count, int64_t offset) {
    poll_desc& d = use.desc();
    const int fd = d.fd();
    if (!may_wait(way)) return result_of(blocking([&] { return os::file_write(fd, from, count, offset); }));
    return call_fd(
        use, d.out, wait_reason::fd_writable, may_leave_some, [&] { return try_write(fd, way, from, count, offset); },
        [] { return never; });
}

int sync_file(int fd, bool data_only) {
    return blocking([&] { return os::file_sync(fd, data_only); });
}

}  // namespace weft::detail
