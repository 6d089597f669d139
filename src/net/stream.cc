// stream.cc: see weft/net/stream.h.

#include <algorithm>
#include <array>

#include <weft/net/stream.h>

#include "net/fd_io.h"
#include "net/moving.h"
#include "netpoll/fd_calls.h"
#include "os/sockets.h"

namespace weft::net {

namespace {

namespace fds = weft::detail::fds;
using detail::bytes_max;
using detail::checked;
using detail::moved_by;
using detail::moves_nothing;
using detail::repeat;
using detail::reported;
using weft::detail::call_in;
using weft::detail::call_out;
using weft::detail::fd_handle;
using weft::detail::fd_use;
using weft::detail::io_result;
using weft::detail::may_leave_some;

constexpr std::size_t pieces_max = 64;

// For a stream on which descriptors may arrive. wanted: the size of into.
io_result read_between_files(const fd_handle& h, std::span<const iovec> into, std::size_t wanted) noexcept {
    bool stopped = false;
    return call_in(
        h, [&](std::size_t count) { return count < wanted && !stopped; },
        [&] { return fds::socket_receive_dropping_files(h.fd(), into.data(), into.size(), stopped); });
}

io_result read_once(const fd_handle& h, bool may_bring_files, mutable_buffer b) noexcept {
    const std::size_t size = std::min(b.size(), bytes_max);
    if (size == 0) return moves_nothing(h);
    if (may_bring_files) {
        const iovec one{b.data(), size};
        return read_between_files(h, {&one, 1}, size);
    }
    return call_in(
        h, [&](std::size_t count) { return count < size; },
        [&] { return fds::socket_receive(h.fd(), b.data(), size); });
}

io_result write_once(const fd_handle& h, const_buffer b) noexcept {
    const std::size_t size = std::min(b.size(), bytes_max);
    if (size == 0) return moves_nothing(h);
    // A short write may leave room: the memory may end here (a truncated mapped file).
    return call_out(h, may_leave_some, [&] { return fds::socket_send(h.fd(), b.data(), size); });
}

std::size_t read_whole(const fd_handle& h, bool may_bring_files, mutable_buffer b, io_result& last) {
    return repeat(h, b, last, [&](mutable_buffer left) { return read_once(h, may_bring_files, left); });
}

std::size_t write_whole(const fd_handle& h, const_buffer b, io_result& last) {
    return repeat(h, b, last, [&](const_buffer left) { return write_once(h, left); });
}

template <typename Buffer>
class pieces {
public:
    explicit pieces(std::span<const Buffer> all) noexcept : all_(all) {
        for (const Buffer& b : all) total_ += b.size();
    }

    [[nodiscard]] std::size_t total() const noexcept { return total_; }

    // Fills in what fits of the buffers after skip bytes. bytes: their size.
    std::size_t fill(std::array<iovec, pieces_max>& into, std::size_t skip, std::size_t& bytes) const noexcept {
        std::size_t count = 0;
        bytes = 0;
        for (const Buffer& b : all_) {
            if (skip >= b.size()) {
                skip -= b.size();
                continue;
            }
            if (count == into.size()) break;
            auto* at = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(b.data())));
            into[count++] = {at + skip, b.size() - skip};
            bytes += b.size() - skip;
            skip = 0;
        }
        return count;
    }

private:
    std::span<const Buffer> all_;
    std::size_t total_ = 0;
};

io_result readv_once(const fd_handle& h, bool may_bring_files, std::span<const mutable_buffer> into) noexcept {
    std::array<iovec, pieces_max> vector;
    std::size_t bytes = 0;
    const std::size_t count = pieces(into).fill(vector, 0, bytes);
    if (count == 0) return moves_nothing(h);
    if (may_bring_files) return read_between_files(h, {vector.data(), count}, bytes);
    return call_in(
        h, [&](std::size_t moved) { return moved < bytes; },
        [&] { return fds::socket_receive_many(h.fd(), vector.data(), count); });
}

std::size_t writev_whole(const fd_handle& h, std::span<const const_buffer> from, io_result& last) {
    const pieces all(from);
    return repeat(h, all.total(), last, [&](std::size_t done) {
        std::array<iovec, pieces_max> vector;
        std::size_t bytes = 0;
        const std::size_t count = all.fill(vector, done, bytes);
        return call_out(h, may_leave_some, [&] { return fds::socket_send_many(h.fd(), vector.data(), count); });
    });
}

std::size_t send_whole(const fd_handle& h, int file, int64_t offset, std::size_t count, io_result& last) {
    return repeat(h, count, last, [&](std::size_t done) {
        const std::size_t left = std::min(count - done, bytes_max);
        return call_out(h, may_leave_some, [&] { return fds::send_file(h.fd(), file, offset, left); });
    });
}

void shut(const fd_handle& h, int how, std::error_code& ec) noexcept {
    const fd_use use(h.desc(), h.generation());
    ec.clear();
    if (!use.entered()) {
        ec = errc::closed;
    } else if (const int result = fds::socket_shut(h.fd(), how); result < 0) {
        ec.assign(-result, std::generic_category());
    } else {
        // The system does not notify our own side of a Unix socket.
        use.desc().nudge(use.desc().in, h.generation());
        use.desc().nudge(use.desc().out, h.generation());
    }
}

}  // namespace

// The calls that servers use most are flattened: the returns after a system call are mispredicted.

[[gnu::flatten]] std::size_t stream::read_some(mutable_buffer b) {
    const io_result r = read_once(handle_, may_bring_files_, b);
    return checked(r, moved_by(r), "weft: read_some");
}

[[gnu::flatten]] std::size_t stream::read_some(mutable_buffer b, std::error_code& ec) {
    const io_result r = read_once(handle_, may_bring_files_, b);
    return reported(r, moved_by(r), ec);
}

std::size_t stream::read(mutable_buffer b) {
    io_result last;
    const std::size_t moved = read_whole(handle_, may_bring_files_, b, last);
    return checked(last, moved, "weft: read");
}

std::size_t stream::read(mutable_buffer b, std::error_code& ec) {
    io_result last;
    const std::size_t moved = read_whole(handle_, may_bring_files_, b, last);
    return reported(last, moved, ec);
}

std::size_t stream::readv_some(std::span<const mutable_buffer> into) {
    const io_result r = readv_once(handle_, may_bring_files_, into);
    return checked(r, moved_by(r), "weft: readv_some");
}

std::size_t stream::readv_some(std::span<const mutable_buffer> into, std::error_code& ec) {
    const io_result r = readv_once(handle_, may_bring_files_, into);
    return reported(r, moved_by(r), ec);
}

[[gnu::flatten]] std::size_t stream::write_some(const_buffer b) {
    const io_result r = write_once(handle_, b);
    return checked(r, moved_by(r), "weft: write_some");
}

[[gnu::flatten]] std::size_t stream::write_some(const_buffer b, std::error_code& ec) {
    const io_result r = write_once(handle_, b);
    return reported(r, moved_by(r), ec);
}

[[gnu::flatten]] std::size_t stream::write_all(const_buffer b) {
    io_result last;
    const std::size_t moved = write_whole(handle_, b, last);
    return checked(last, moved, "weft: write_all");
}

[[gnu::flatten]] std::size_t stream::write_all(const_buffer b, std::error_code& ec) {
    io_result last;
    const std::size_t moved = write_whole(handle_, b, last);
    return reported(last, moved, ec);
}

std::size_t stream::writev_all(std::span<const const_buffer> from) {
    io_result last;
    const std::size_t moved = writev_whole(handle_, from, last);
    return checked(last, moved, "weft: writev_all");
}

std::size_t stream::writev_all(std::span<const const_buffer> from, std::error_code& ec) {
    io_result last;
    const std::size_t moved = writev_whole(handle_, from, last);
    return reported(last, moved, ec);
}

std::size_t stream::sendfile(int file, int64_t offset, std::size_t count) {
    io_result last;
    const std::size_t moved = send_whole(handle_, file, offset, count, last);
    return checked(last, moved, "weft: sendfile");
}

std::size_t stream::sendfile(int file, int64_t offset, std::size_t count, std::error_code& ec) {
    io_result last;
    const std::size_t moved = send_whole(handle_, file, offset, count, last);
    return reported(last, moved, ec);
}

void stream::shutdown_send() {
    std::error_code ec;
    shutdown_send(ec);
    if (ec) throw std::system_error(ec, "weft: shutdown_send");
}

void stream::shutdown_send(std::error_code& ec) { shut(handle_, SHUT_WR, ec); }

void stream::shutdown_receive() {
    std::error_code ec;
    shutdown_receive(ec);
    if (ec) throw std::system_error(ec, "weft: shutdown_receive");
}

void stream::shutdown_receive(std::error_code& ec) { shut(handle_, SHUT_RD, ec); }

}  // namespace weft::net
