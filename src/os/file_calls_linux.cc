// file_calls_linux.cc: see file_calls.h.
#include <dirent.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/atomic.h"
#include "os/file_calls.h"
#include "os/never_inlined.h"
#include "os/sigpipe.h"

namespace weft::detail::os {

namespace {

constexpr int write_without_signal = 0x100;  // RWF_NOSIGNAL, Linux 6.18

// Relaxed: a thread that reads an old value only tries once more.
constinit atomic<bool> knows_write_without_signal{true};

template <typename F>
[[gnu::always_inline]] inline auto restarted(F f) noexcept {
    for (;;) {
        const auto result = or_errno(f());
        if (result != -EINTR) return result;
    }
}

int flags_of(const open_flags& how) noexcept {
    int flags = O_CLOEXEC | (how.read && how.write ? O_RDWR : how.write ? O_WRONLY : O_RDONLY);
    if (how.create) flags |= O_CREAT;
    if (how.exclusive) flags |= O_EXCL;
    if (how.truncate) flags |= O_TRUNC;
    if (how.append) flags |= O_APPEND;
    if (how.data_sync) flags |= O_DSYNC;
    if (how.directory) flags |= O_DIRECTORY;
    if (how.nonblocking) flags |= O_NONBLOCK;
    return flags;
}

file_kind kind_of(mode_t mode) noexcept {
    switch (mode & S_IFMT) {
        case S_IFREG:
            return file_kind::regular;
        case S_IFDIR:
            return file_kind::directory;
        case S_IFLNK:
            return file_kind::symlink;
        case S_IFIFO:
            return file_kind::fifo;
        case S_IFSOCK:
            return file_kind::socket;
        case S_IFCHR:
            return file_kind::character;
        case S_IFBLK:
            return file_kind::block;
        default:
            return file_kind::unknown;
    }
}

file_status status_of(const struct stat& s) noexcept {
    constexpr int64_t ns_per_s = 1'000'000'000;
    return {.kind = kind_of(s.st_mode),
            .permissions = s.st_mode & 07777,
            .size = s.st_size,
            .modified_ns = int64_t{s.st_mtim.tv_sec} * ns_per_s + s.st_mtim.tv_nsec,
            .device = s.st_dev,
            .inode = s.st_ino,
            .links = s.st_nlink,
            .user = s.st_uid,
            .group = s.st_gid};
}

// The kernel's layout; libc's readdir allocates.
struct entry_head {
    uint64_t inode;
    int64_t next;
    uint16_t size;
    uint8_t type;
};

constexpr std::size_t name_at = 19;  // offset in an entry
static_assert(offsetof(entry_head, type) + 1 == name_at);

bool is_itself_or_parent(const char* name) noexcept {
    return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

}  // namespace

WEFT_OS_CALL int file_open(const char* path, const open_flags& how, uint32_t permissions) noexcept {
    return restarted([&] { return ::open(path, flags_of(how), static_cast<mode_t>(permissions)); });
}

WEFT_OS_CALL ssize_t file_read(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept {
    return restarted([&] {
        return offset == own_position ? ::readv(fd, into, static_cast<int>(count))
                                      : ::preadv(fd, into, static_cast<int>(count), offset);
    });
}

WEFT_OS_CALL ssize_t file_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept {
    return restarted([&] {
        return offset == own_position ? ::writev(fd, from, static_cast<int>(count))
                                      : ::pwritev(fd, from, static_cast<int>(count), offset);
    });
}

WEFT_OS_CALL bool file_has_positions(int fd) noexcept { return ::lseek(fd, 0, SEEK_CUR) >= 0 || errno != ESPIPE; }

WEFT_OS_CALL ssize_t try_file_read(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept {
    return or_errno(::preadv2(fd, into, static_cast<int>(count), offset, RWF_NOWAIT));
}

WEFT_OS_CALL ssize_t stream_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept {
    const int pieces = static_cast<int>(count);
    if (knows_write_without_signal.load(relaxed)) {  // relaxed: see above
        const ssize_t written = or_errno(::pwritev2(fd, from, pieces, offset, write_without_signal));
        if (written != -EOPNOTSUPP && written != -EINVAL && written != -ENOSYS) return written;
        knows_write_without_signal.store(false, relaxed);  // relaxed: see above
    }
    const sigpipe_held_back signal;
    const ssize_t written =
        or_errno(offset == own_position ? ::writev(fd, from, pieces) : ::pwritev(fd, from, pieces, offset));
    if (written == -EPIPE) signal.take();
    return written;
}

WEFT_OS_CALL ssize_t try_stream_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept {
    const int pieces = static_cast<int>(count);
    if (knows_write_without_signal.load(relaxed))  // relaxed: see above. On -EOPNOTSUPP, stream_write learns.
        return or_errno(::pwritev2(fd, from, pieces, offset, RWF_NOWAIT | write_without_signal));
    const sigpipe_held_back signal;
    const ssize_t written = or_errno(::pwritev2(fd, from, pieces, offset, RWF_NOWAIT));
    if (written == -EPIPE) signal.take();
    return written;
}

WEFT_OS_CALL ssize_t try_socket_read(int fd, const iovec* into, std::size_t count) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(into);  // only read
    message.msg_iovlen = count;
    return or_errno(::recvmsg(fd, &message, MSG_DONTWAIT));
}

WEFT_OS_CALL ssize_t try_socket_write(int fd, const iovec* from, std::size_t count) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(from);  // only read
    message.msg_iovlen = count;
    return or_errno(::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

WEFT_OS_CALL bool is_terminal(int fd) noexcept { return ::isatty(fd) != 0; }

WEFT_OS_CALL int open_terminal_again(int fd, bool writes) noexcept {
    int number = 0;
    if (::ioctl(fd, TIOCGPTN, &number) == 0) return -ENXIO;  // the main side
    char path[32];
    std::snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const int own = or_errno(::open(path, (writes ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (own < 0) return own;
    // /dev/tty may be another terminal than when fd was opened.
    unsigned first = 0;
    unsigned second = 0;
    const bool is_same = ::ioctl(fd, TIOCGDEV, &first) == 0 && ::ioctl(own, TIOCGDEV, &second) == 0 && first == second;
    if (is_same) return own;
    ::close(own);
    return -ENXIO;
}

WEFT_OS_CALL int make_blocking(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    return or_errno(flags < 0 ? flags : ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK));
}

WEFT_OS_CALL bool is_nonblocking(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

WEFT_OS_CALL int can_be_polled(int fd) noexcept {
    const int poller = ::epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) return -1;
    epoll_event event{};
    const bool can = ::epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0;
    ::close(poller);
    return can ? 1 : 0;
}

WEFT_OS_CALL int64_t file_seek(int fd, int64_t offset, seek_from from) noexcept {
    const int whence = from == seek_from::begin ? SEEK_SET : from == seek_from::current ? SEEK_CUR : SEEK_END;
    return or_errno(int64_t{::lseek(fd, offset, whence)});
}

WEFT_OS_CALL int file_sync(int fd, bool data_only) noexcept {
    return restarted([&] { return data_only ? ::fdatasync(fd) : ::fsync(fd); });
}

WEFT_OS_CALL int file_truncate(int fd, int64_t size) noexcept {
    return restarted([&] { return ::ftruncate(fd, size); });
}

WEFT_OS_CALL int file_status_of(int fd, file_status& s) noexcept {
    struct stat found{};
    const int result = or_errno(::fstat(fd, &found));
    if (result == 0) s = status_of(found);
    return result;
}

WEFT_OS_CALL int file_status_at(const char* path, bool follow, file_status& s) noexcept {
    struct stat found{};
    const int result = or_errno(::fstatat(AT_FDCWD, path, &found, follow ? 0 : AT_SYMLINK_NOFOLLOW));
    if (result == 0) s = status_of(found);
    return result;
}

WEFT_OS_CALL int directory_read(int fd, void (*each)(void*, const char*, file_kind), void* closure) {
    alignas(entry_head) char entries[16 * 1024];
    for (;;) {
        const long size = or_errno(::syscall(SYS_getdents64, fd, entries, sizeof(entries)));
        if (size <= 0) return static_cast<int>(size);
        for (long at = 0; at < size;) {
            const auto* entry = reinterpret_cast<const entry_head*>(entries + at);
            const char* name = entries + at + name_at;
            if (!is_itself_or_parent(name)) each(closure, name, kind_of(static_cast<mode_t>(DTTOIF(entry->type))));
            at += entry->size;
        }
    }
}

WEFT_OS_CALL int path_rename(const char* from, const char* to) noexcept { return or_errno(::rename(from, to)); }

WEFT_OS_CALL int path_unlink(const char* path) noexcept { return or_errno(::unlink(path)); }

WEFT_OS_CALL int path_make_directory(const char* path, uint32_t permissions) noexcept {
    return or_errno(::mkdir(path, static_cast<mode_t>(permissions)));
}

WEFT_OS_CALL int path_remove_directory(const char* path) noexcept { return or_errno(::rmdir(path)); }

}  // namespace weft::detail::os
