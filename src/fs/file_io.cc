// file_io.cc: see file_io.h.
#include "fs/file_io.h"

#include <algorithm>
#include <cerrno>

#include <weft/blocking.h>

#include "fs/file_ring.h"
#include "os/fd_calls.h"
#include "os/file_calls.h"
#include "os/nonblocking_output.h"
#include "os/sockets.h"
#include "sched/simulated_files.h"
#include "sched/simulation.h"

namespace weft::detail {

namespace {

io_result result_of(ssize_t moved) noexcept {
    if (moved == -host_crashed) [[unlikely]]  // only in a simulation
        return {-1, 0, io_result::how::cancelled};
    if (moved < 0) return {-1, static_cast<int>(-moved), io_result::how::failed};
    return {moved, 0, io_result::how::done};
}

file_way way_of(int fd, file_way of_streams) noexcept {
    os::file_status s{};
    if (os::file_status_of(fd, s) != 0) return file_way::called;
    switch (s.kind) {
        case os::file_kind::regular:
        case os::file_kind::block:
            return file_way::stored;
        case os::file_kind::directory:
        case os::file_kind::symlink:
            return file_way::called;
        case os::file_kind::socket:
            return file_way::socket;
        case os::file_kind::fifo:
            return of_streams;
        default:
            return os::can_be_polled(fd) > 0 ? of_streams : file_way::called;
    }
}

// f(simulated_files&), for the open file fd.
template <typename F>
ssize_t in_simulation(int fd, F f) {
    simulated_files* all = simulated_files_of(fd);
    return all == nullptr ? -EBADF : f(*all);
}

// R2. 0 or less: repeat in the ordinary way.
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

// 0, or -EAGAIN if it would wait. Another negative value: the system cannot tell.
int check_ready(int fd, short events) noexcept {
    short ready = 0;
    const int count = os::fd_poll(fd, events, ready);
    return count > 0 ? 0 : count == 0 ? -EAGAIN : count;
}

bool is_fifo(int fd) noexcept {
    os::file_status s{};
    return os::file_status_of(fd, s) == 0 && s.kind == os::file_kind::fifo;
}

bool is_no_answer(ssize_t result) noexcept {
    return result == -EAGAIN || result == -EOPNOTSUPP || result == -EINVAL || result == -ENOSYS;
}

// -EAGAIN: it would wait.
ssize_t read_polled(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept {
    const ssize_t got = os::file_read(fd, into, count, offset);
    if (got != 0 || !is_fifo(fd)) return got;
    if (const int error = check_ready(fd, POLLIN)) return error;
    return os::file_read(fd, into, count, offset);
}

template <typename Try, typename Call>
ssize_t ask(int fd, short events, Try attempt, Call call) {
    ssize_t moved = attempt();  // Q1
    if (moved > 0 || (moved < 0 && !is_no_answer(moved))) return moved;
    if (const int error = check_ready(fd, events)) return error;  // Q2
    moved = attempt();                                            // Q3
    return is_no_answer(moved) ? blocking(call) : moved;          // Q4
}

// Q4. Returns f's result; -EOPNOTSUPP if the terminal cannot be reopened.
template <typename F>
ssize_t with_own_terminal(int fd, bool writes, F f) noexcept {
    const int own = os::open_terminal_again(fd, writes);
    if (own < 0) return -EOPNOTSUPP;
    const ssize_t moved = f(own);
    os::fd_close(own);
    return moved;
}

ssize_t read_ready(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept {
    const auto read = [&](int from) { return os::file_read(from, into, count, offset); };
    const ssize_t got = os::is_terminal(fd) ? with_own_terminal(fd, false, read) : -EOPNOTSUPP;
    return got == -EOPNOTSUPP ? read(fd) : got;
}

ssize_t write_ready(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept {
    const auto write = [&](int to) { return os::stream_write(to, from, count, offset); };
    const bool is_terminal = os::is_terminal(fd);
    const ssize_t written = is_terminal ? with_own_terminal(fd, true, write) : -EOPNOTSUPP;
    if (written != -EOPNOTSUPP) return written;
    if (os::is_nonblocking(fd)) return write(fd);
    const std::size_t promised = is_terminal ? 1 : os::sure_of_pipe;
    const iovec first{from->iov_base, std::min(from->iov_len, promised)};
    return os::stream_write(fd, &first, 1, offset);
}

ssize_t try_read(int fd, file_way way, const iovec* into, std::size_t count, int64_t offset) {
    if (way == file_way::polled) return read_polled(fd, into, count, offset);
    if (way == file_way::socket) return os::try_socket_read(fd, into, count);
    return ask(
        fd, POLLIN, [&] { return os::try_file_read(fd, into, count, offset); },
        [&] { return read_ready(fd, into, count, offset); });
}

ssize_t try_write(int fd, file_way way, const iovec* from, std::size_t count, int64_t offset) {
    if (way == file_way::polled) return os::stream_write(fd, from, count, offset);
    if (way == file_way::socket) return os::try_socket_write(fd, from, count);
    return ask(
        fd, POLLOUT, [&] { return os::try_stream_write(fd, from, count, offset); },
        [&] { return write_ready(fd, from, count, offset); });
}

bool may_wait(file_way way) noexcept {
    return way == file_way::polled || way == file_way::socket || way == file_way::asked;
}

}  // namespace

file_way way_of_opened(int fd, bool is_nonblocking) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return file_way::simulated;
    const file_way way = way_of(fd, file_way::polled);
    if (way == file_way::polled && !is_nonblocking && os::make_nonblocking(fd) != 0) return file_way::asked;
    // Another file has replaced the FIFO.
    if (way != file_way::polled && is_nonblocking) static_cast<void>(os::make_blocking(fd));
    return way;
}

file_way way_of_adopted(int fd) noexcept {
    if (is_simulated_fd(fd)) [[unlikely]]
        return file_way::simulated;
    const file_way way = way_of(fd, file_way::asked);
    if (way == file_way::stored || way == file_way::called)
        static_cast<void>(escapes_simulation("adopts a descriptor of the system; open the file by its path"));
    return way;
}

io_result read_file_piece(const fd_use& use, file_way way, const iovec* into, std::size_t count, int64_t offset) {
    poll_desc& d = use.desc();
    const int fd = d.fd();
    if (way == file_way::simulated) [[unlikely]]
        return result_of(in_simulation(fd, [&](auto& all) { return all.read(fd, into, count, offset); }));
    if (way == file_way::stored) return result_of(read_stored(fd, into, count, offset));
    if (!may_wait(way)) return result_of(blocking([&] { return os::file_read(fd, into, count, offset); }));
    if (offset != os::own_position && !os::file_has_positions(fd)) return result_of(-ESPIPE);
    return call_fd(
        use, d.in, wait_reason::fd_readable, may_leave_some, [&] { return try_read(fd, way, into, count, offset); },
        [] { return never; });
}

io_result write_file_piece(const fd_use& use, file_way way, const iovec* from, std::size_t count, int64_t offset) {
    poll_desc& d = use.desc();
    const int fd = d.fd();
    if (way == file_way::simulated) [[unlikely]]
        return result_of(in_simulation(fd, [&](auto& all) { return all.write(fd, from, count, offset); }));
    if (!may_wait(way)) return result_of(blocking([&] { return os::file_write(fd, from, count, offset); }));
    if (offset != os::own_position && !os::file_has_positions(fd)) return result_of(-ESPIPE);
    return call_fd(
        use, d.out, wait_reason::fd_writable, may_leave_some, [&] { return try_write(fd, way, from, count, offset); },
        [] { return never; });
}

int64_t seek_file(int fd, int64_t offset, os::seek_from from) {
    if (is_simulated_fd(fd)) [[unlikely]]
        return in_simulation(fd, [&](auto& all) { return all.seek(fd, offset, from); });
    return os::file_seek(fd, offset, from);
}

int truncate_file(int fd, int64_t size) {
    if (is_simulated_fd(fd)) [[unlikely]]
        return static_cast<int>(in_simulation(fd, [&](auto& all) { return all.truncate(fd, size); }));
    return blocking([&] { return os::file_truncate(fd, size); });
}

int status_of_file(int fd, os::file_status& s) {
    if (is_simulated_fd(fd)) [[unlikely]]
        return static_cast<int>(in_simulation(fd, [&](auto& all) { return all.status_of(fd, s); }));
    return blocking([&] { return os::file_status_of(fd, s); });
}

int sync_file(int fd, bool data_only) {
    if (is_simulated_fd(fd)) [[unlikely]]
        return static_cast<int>(in_simulation(fd, [&](auto& all) { return all.sync(fd, data_only); }));
    return blocking([&] { return os::file_sync(fd, data_only); });
}

}  // namespace weft::detail
