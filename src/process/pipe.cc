// pipe.cc: see weft/pipe.h.
#include <algorithm>

#include <weft/pipe.h>

#include "net/fd_io.h"
#include "net/moving.h"
#include "os/fd_calls.h"
#include "os/process_calls.h"

namespace weft {

namespace {

namespace os = detail::os;
using detail::fd_handle;
using detail::io_result;
using net::detail::bytes_max;
using net::detail::checked;
using net::detail::moved_by;
using net::detail::moves_nothing;
using net::detail::repeat;
using net::detail::reported;
using net::detail::throw_errno;

io_result read_once(const fd_handle& h, net::mutable_buffer b) noexcept {
    const std::size_t most = std::min(b.size(), bytes_max);
    if (most == 0) return moves_nothing(h);
    return detail::call_in(h, detail::may_leave_some, [&] { return os::pipe_read(h.fd(), b.data(), most); });
}

io_result write_once(const fd_handle& h, net::const_buffer b) noexcept {
    const std::size_t most = std::min(b.size(), bytes_max);
    if (most == 0) return moves_nothing(h);
    return detail::call_out(h, detail::may_leave_some, [&] { return os::pipe_write(h.fd(), b.data(), most); });
}

std::size_t read_whole(const fd_handle& h, net::mutable_buffer b, io_result& last) {
    return repeat(h, b, last, [&](net::mutable_buffer left) { return read_once(h, left); });
}

std::size_t write_whole(const fd_handle& h, net::const_buffer b, io_result& last) {
    return repeat(h, b, last, [&](net::const_buffer left) { return write_once(h, left); });
}

}  // namespace

fd_handle detail::pipe_end::taken_over(int fd, const char* what) {
    if (const int result = os::make_nonblocking(fd); result < 0) {
        if (fd >= 0) os::fd_close(fd);
        throw_errno(-result, what);
    }
    return fd_handle(fd);
}

pipe_ends make_pipe() {
    int read_end = -1;
    int write_end = -1;
    if (const int result = os::pipe_make(read_end, write_end); result < 0)
        throw_errno(-result, "weft: make_pipe (close some descriptors, or raise the limit: ulimit -n)");

    struct open_end {
        int fd;

        ~open_end() {
            if (fd >= 0) os::fd_close(fd);
        }
    } other{write_end};

    pipe_reader reader = pipe_reader::adopt(read_end);
    other.fd = -1;
    return {std::move(reader), pipe_writer::adopt(write_end)};
}

std::size_t pipe_reader::read_some(net::mutable_buffer b) {
    const io_result r = read_once(handle_, b);
    return checked(r, moved_by(r), "weft: read_some from a pipe");
}

std::size_t pipe_reader::read_some(net::mutable_buffer b, std::error_code& ec) {
    const io_result r = read_once(handle_, b);
    return reported(r, moved_by(r), ec);
}

std::size_t pipe_reader::read(net::mutable_buffer b) {
    io_result last;
    const std::size_t moved = read_whole(handle_, b, last);
    return checked(last, moved, "weft: read from a pipe");
}

std::size_t pipe_reader::read(net::mutable_buffer b, std::error_code& ec) {
    io_result last;
    const std::size_t moved = read_whole(handle_, b, last);
    return reported(last, moved, ec);
}

std::size_t pipe_writer::write_some(net::const_buffer b) {
    const io_result r = write_once(handle_, b);
    return checked(r, moved_by(r), "weft: write_some to a pipe");
}

std::size_t pipe_writer::write_some(net::const_buffer b, std::error_code& ec) {
    const io_result r = write_once(handle_, b);
    return reported(r, moved_by(r), ec);
}

std::size_t pipe_writer::write_all(net::const_buffer b) {
    io_result last;
    const std::size_t moved = write_whole(handle_, b, last);
    return checked(last, moved, "weft: write_all to a pipe");
}

std::size_t pipe_writer::write_all(net::const_buffer b, std::error_code& ec) {
    io_result last;
    const std::size_t moved = write_whole(handle_, b, last);
    return reported(last, moved, ec);
}

}  // namespace weft
