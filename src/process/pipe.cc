// pipe.cc: see weft/pipe.h.
#include <algorithm>

#include <weft/pipe.h>

#include "net/fd_io.h"
#include "net/report.h"
#include "os/fd_calls.h"
#include "os/process_calls.h"

namespace weft {

namespace {

namespace os = detail::os;
using detail::fd_handle;
using detail::io_result;
using net::detail::code_of;
using net::detail::throw_errno;
using net::detail::throw_result;

constexpr std::size_t bytes_max = 0x7fff'0000;  // the system moves no more at once

bool is_done(const io_result& r) noexcept { return r.ended == io_result::how::done; }

io_result read_once(const fd_handle& h, void* into, std::size_t size) noexcept {
    if (size == 0) return {};
    const std::size_t most = std::min(size, bytes_max);
    return detail::call_in(h, 0, [&] { return os::pipe_read(h.fd(), into, most); });
}

io_result write_once(const fd_handle& h, const void* from, std::size_t size) noexcept {
    if (size == 0) return {};
    const std::size_t most = std::min(size, bytes_max);
    return detail::call_out(h, 0, [&] { return os::pipe_write(h.fd(), from, most); });
}

// Calls once(done) until size bytes are moved, it moves none, or it fails. Returns how many were moved.
template <typename Once>
std::size_t repeat(std::size_t size, io_result& last, Once once) {
    std::size_t done = 0;
    while (done < size) {
        last = once(done);
        if (!is_done(last) || last.count == 0) break;
        done += static_cast<std::size_t>(last.count);
    }
    return done;
}

std::size_t read_whole(const fd_handle& h, net::mutable_buffer b, io_result& last) {
    auto* at = static_cast<std::byte*>(b.data());
    return repeat(b.size(), last, [&](std::size_t done) { return read_once(h, at + done, b.size() - done); });
}

std::size_t write_whole(const fd_handle& h, net::const_buffer b, io_result& last) {
    const auto* at = static_cast<const std::byte*>(b.data());
    return repeat(b.size(), last, [&](std::size_t done) { return write_once(h, at + done, b.size() - done); });
}

std::size_t moved_by(const io_result& r) noexcept { return is_done(r) ? static_cast<std::size_t>(r.count) : 0; }

std::size_t checked(const io_result& last, std::size_t moved, const char* what) {
    if (!is_done(last)) throw_result(last, what);
    return moved;
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
        throw_errno(-result, "weft: make_pipe (too many descriptors: close some, or raise the limit, ulimit -n)");

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
    const io_result r = read_once(handle_, b.data(), b.size());
    return checked(r, moved_by(r), "weft: read_some from a pipe");
}

std::size_t pipe_reader::read_some(net::mutable_buffer b, std::error_code& ec) {
    const io_result r = read_once(handle_, b.data(), b.size());
    ec = code_of(r);
    return moved_by(r);
}

std::size_t pipe_reader::read(net::mutable_buffer b) {
    io_result last;
    const std::size_t moved = read_whole(handle_, b, last);
    return checked(last, moved, "weft: read from a pipe");
}

std::size_t pipe_reader::read(net::mutable_buffer b, std::error_code& ec) {
    io_result last;
    const std::size_t moved = read_whole(handle_, b, last);
    ec = code_of(last);
    return moved;
}

std::size_t pipe_writer::write_some(net::const_buffer b) {
    const io_result r = write_once(handle_, b.data(), b.size());
    return checked(r, moved_by(r), "weft: write_some to a pipe");
}

std::size_t pipe_writer::write_some(net::const_buffer b, std::error_code& ec) {
    const io_result r = write_once(handle_, b.data(), b.size());
    ec = code_of(r);
    return moved_by(r);
}

std::size_t pipe_writer::write_all(net::const_buffer b) {
    io_result last;
    const std::size_t moved = write_whole(handle_, b, last);
    return checked(last, moved, "weft: write_all to a pipe");
}

std::size_t pipe_writer::write_all(net::const_buffer b, std::error_code& ec) {
    io_result last;
    const std::size_t moved = write_whole(handle_, b, last);
    ec = code_of(last);
    return moved;
}

}  // namespace weft
