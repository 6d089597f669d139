// files.cc: read, write, readv and writev.
//
// These take descriptors of any kind. A socket is tried first, as recv or send with MSG_DONTWAIT:
// ENOTSOCK costs 0.3 us. Of the others
//
//   regular files, folders, disks   are always ready, and take their time: a blocking call
//   pipes                           are read and written with RWF_NOWAIT, and waited for
//   terminals, event counters …     are waited for, then read or written in a blocking call, because
//                                   another thread may be first
//
// Only poll() is believed about readiness: RWF_NOWAIT may say EAGAIN for other reasons. Kernels and
// files without RWF_NOWAIT do without: a pipe with room for PIPE_BUF bytes takes as many at once.
//
// A write of at most PIPE_BUF bytes to a pipe stays atomic.
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <weft/blocking.h>
#include <weft/detail/wait.h>

#include "hooks/calls.h"
#include "hooks/wait_io.h"

namespace weft::hooks {

namespace {

constinit const real<ssize_t(int, void*, size_t)> real_read("read");
constinit const real<ssize_t(int, const void*, size_t)> real_write("write");
constinit const real<ssize_t(int, const iovec*, int)> real_readv("readv");
constinit const real<ssize_t(int, const iovec*, int)> real_writev("writev");

enum class file_kind { always_ready, pipe, other };

file_kind kind_of(int fd) noexcept {
    struct stat about{};
    if (::fstat(fd, &about) != 0) return file_kind::other;
    if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) || S_ISBLK(about.st_mode)) return file_kind::always_ready;
    return S_ISFIFO(about.st_mode) ? file_kind::pipe : file_kind::other;
}

// preadv2 and pwritev2 at the current position, as system calls because not all C libraries have
// them.
constexpr int no_wait = 8;  // RWF_NOWAIT

ssize_t read_now(int fd, const iovec* parts, int count) noexcept {
    return ::syscall(SYS_preadv2, fd, parts, static_cast<long>(count), -1L, -1L, no_wait);
}

ssize_t write_now(int fd, const iovec* parts, int count) noexcept {
    return ::syscall(SYS_pwritev2, fd, parts, static_cast<long>(count), -1L, -1L, no_wait);
}

// Waits until fd is ready. Returns again when it is, or when only the call can tell.
foreign_end await(int fd, bool writes) noexcept {
    const short events = writes ? POLLOUT : POLLIN;
    if (is_ready(fd, events)) return foreign_end::again;
    foreign_fd waits(fd, writes);
    for (;;) {
        waits.begin();
        if (is_ready(fd, events)) return foreign_end::again;
        const foreign_end end = waits.wait(detail::never);
        if (end == foreign_end::failed) return foreign_end::again;
        if (end != foreign_end::again) return end;
    }
}

// f(): the call as the program made it, which may block. attempt(): the call without blocking,
// where the system can do that.
template <typename Attempt, typename F>
ssize_t read_file(int fd, Attempt attempt, F f) noexcept {
    const file_kind kind = kind_of(fd);
    if (kind == file_kind::always_ready) return blocking(f);
    if (is_nonblocking(fd)) return f();
    for (;;) {
        if (kind == file_kind::pipe) {
            const ssize_t moved = attempt();
            if (moved >= 0 || (last_error() != EAGAIN && last_error() != EOPNOTSUPP && last_error() != ENOSYS))
                return moved;
        }
        if (kind != file_kind::pipe || is_ready(fd, POLLIN)) {
            const foreign_end end = await(fd, false);
            if (end != foreign_end::again) return fail(error_of(end, EAGAIN));
            return blocking(f);
        }
        const foreign_end end = await(fd, false);
        if (end != foreign_end::again) return fail(error_of(end, EAGAIN));
    }
}

// Some of the data, without blocking if possible, into a pipe that poll() has found ready.
ssize_t write_some(int fd, const char* from, size_t size) noexcept {
    const iovec one{const_cast<char*>(from), size};
    const ssize_t moved = write_now(fd, &one, 1);
    if (moved >= 0 || (last_error() != EOPNOTSUPP && last_error() != ENOSYS)) return moved;
    return blocking([&] { return real_write(fd, from, std::min<size_t>(size, PIPE_BUF)); });
}

ssize_t write_pipe(int fd, const char* from, size_t size) noexcept {
    size_t done = 0;
    while (done < size) {
        const foreign_end end = await(fd, true);
        ssize_t moved = -1;
        if (end == foreign_end::again) {
            moved = write_some(fd, from + done, size - done);
            // Ready, and still no room: less than the call needs, or another writer came first.
            if (moved < 0 && last_error() == EAGAIN && is_ready(fd, POLLOUT))
                moved = blocking([&] { return real_write(fd, from + done, std::min<size_t>(size - done, PIPE_BUF)); });
            if (moved < 0 && last_error() == EAGAIN) continue;
        } else {
            set_error(error_of(end, EAGAIN));
        }
        if (moved < 0) return done != 0 ? static_cast<ssize_t>(done) : -1;
        done += static_cast<size_t>(moved);
    }
    return static_cast<ssize_t>(done);
}

template <typename F>
ssize_t write_other(int fd, F f) noexcept {
    const foreign_end end = await(fd, true);
    if (end != foreign_end::again) return fail(error_of(end, EAGAIN));
    return blocking(f);
}

// Parts of a vector as one message.
msghdr message_of(const iovec* parts, int count) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);  // only read
    message.msg_iovlen = static_cast<size_t>(count);
    return message;
}

size_t size_of(const iovec* parts, int count) noexcept {
    size_t size = 0;
    for (int i = 0; i < count; ++i) size += parts[i].iov_len;
    return size;
}

// A socket returns 0 for these at once, whereas recv would wait.
bool is_empty(const iovec* parts, int count) noexcept { return count <= 0 || size_of(parts, count) == 0; }

}  // namespace

void use_files() noexcept {}

}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {

ssize_t read(int fd, void* into, size_t size) {
    if (size == 0 || !may_park() || is_own_fd(fd)) return real_read(fd, into, size);
    const ssize_t moved = receive(fd, into, size, 0, nullptr, nullptr);
    if (moved >= 0 || last_error() != ENOTSOCK) return moved;
    const iovec one{into, size};
    return read_file(fd, [&] { return read_now(fd, &one, 1); }, [&] { return real_read(fd, into, size); });
}

ssize_t write(int fd, const void* data, size_t size) {
    if (size == 0 || !may_park() || is_own_fd(fd)) return real_write(fd, data, size);
    const ssize_t moved = send_all(fd, data, size, 0, nullptr, 0);
    if (moved >= 0 || last_error() != ENOTSOCK) return moved;
    const auto write_it = [&] { return real_write(fd, data, size); };
    const file_kind kind = kind_of(fd);
    if (kind == file_kind::always_ready) return weft::blocking(write_it);
    if (is_nonblocking(fd)) return write_it();
    return kind == file_kind::pipe ? write_pipe(fd, static_cast<const char*>(data), size) : write_other(fd, write_it);
}

ssize_t readv(int fd, const iovec* parts, int count) {
    if (is_empty(parts, count) || !may_park() || is_own_fd(fd)) return real_readv(fd, parts, count);
    msghdr message = message_of(parts, count);
    const ssize_t moved = receive_message(fd, &message, 0);
    if (moved >= 0 || last_error() != ENOTSOCK) return moved;
    return read_file(fd, [&] { return read_now(fd, parts, count); }, [&] { return real_readv(fd, parts, count); });
}

ssize_t writev(int fd, const iovec* parts, int count) {
    if (is_empty(parts, count) || !may_park() || is_own_fd(fd)) return real_writev(fd, parts, count);
    const msghdr message = message_of(parts, count);
    const ssize_t moved = send_message(fd, &message, 0);
    if (moved >= 0 || last_error() != ENOTSOCK) return moved;
    const auto write_it = [&] { return real_writev(fd, parts, count); };
    const file_kind kind = kind_of(fd);
    if (kind == file_kind::always_ready) return weft::blocking(write_it);
    if (is_nonblocking(fd)) return write_it();
    if (kind != file_kind::pipe || size_of(parts, count) <= PIPE_BUF) return write_other(fd, write_it);
    size_t done = 0;
    for (int i = 0; i < count; ++i) {
        const ssize_t part = write_pipe(fd, static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
        if (part < 0) return done != 0 ? static_cast<ssize_t>(done) : -1;
        done += static_cast<size_t>(part);
        if (static_cast<size_t>(part) != parts[i].iov_len) break;
    }
    return static_cast<ssize_t>(done);
}

[[noreturn]] void __chk_fail();

ssize_t __read_chk(int fd, void* into, size_t size, size_t room) {
    if (size > room) __chk_fail();
    return read(fd, into, size);
}
}
