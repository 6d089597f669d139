// file_calls_posix.cc: see file_calls.h.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/time_units.h"
#include "os/fault_injection.h"
#include "os/file_calls.h"
#include "os/file_kind.h"
#include "os/never_inlined.h"
#include "os/restarted.h"

namespace weft::detail::os {

namespace {

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

// macOS has another name.
template <typename Stat>
int64_t modified_ns(const Stat& s) noexcept {
    if constexpr (requires { s.st_mtim; }) {
        return int64_t{s.st_mtim.tv_sec} * ns_per_s + s.st_mtim.tv_nsec;
    } else {
        return int64_t{s.st_mtimespec.tv_sec} * ns_per_s + s.st_mtimespec.tv_nsec;
    }
}

file_status status_of(const struct stat& s) noexcept {
    return {.kind = kind_of(s.st_mode),
            .permissions = s.st_mode & 07777U,
            .size = s.st_size,
            .modified_ns = modified_ns(s),
            .device = static_cast<uint64_t>(s.st_dev),
            .inode = s.st_ino,
            .links = s.st_nlink,
            .user = s.st_uid,
            .group = s.st_gid};
}

}  // namespace

WEFT_OS_CALL int file_open(const char* path, const open_flags& how, uint32_t permissions) noexcept {
    if (const int error = injected_failure(failure::open); error != 0) return -error;
    return restarted([&] { return ::open(path, flags_of(how), static_cast<mode_t>(permissions)); });
}

WEFT_OS_CALL ssize_t file_read(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept {
    return restarted([&] {
        return offset == own_position ? ::readv(fd, into, static_cast<int>(count))
                                      : ::preadv(fd, into, static_cast<int>(count), offset);
    });
}

WEFT_OS_CALL ssize_t file_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept {
    if (const int error = injected_failure(failure::write); error != 0) return -error;
    return restarted([&] {
        return offset == own_position ? ::writev(fd, from, static_cast<int>(count))
                                      : ::pwritev(fd, from, static_cast<int>(count), offset);
    });
}

WEFT_OS_CALL bool file_has_positions(int fd) noexcept { return ::lseek(fd, 0, SEEK_CUR) >= 0 || errno != ESPIPE; }

WEFT_OS_CALL ssize_t try_socket_read(int fd, const iovec* into, std::size_t count) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(into);  // only read
    message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(count);
    return or_errno(::recvmsg(fd, &message, MSG_DONTWAIT));
}

WEFT_OS_CALL ssize_t try_socket_write(int fd, const iovec* from, std::size_t count) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(from);  // only read
    message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(count);
    return or_errno(::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

WEFT_OS_CALL bool is_terminal(int fd) noexcept { return ::isatty(fd) != 0; }

WEFT_OS_CALL int make_blocking(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    return or_errno(flags < 0 ? flags : ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK));
}

WEFT_OS_CALL bool is_nonblocking(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

WEFT_OS_CALL int64_t file_seek(int fd, int64_t offset, seek_from from) noexcept {
    const int whence = from == seek_from::begin ? SEEK_SET : from == seek_from::current ? SEEK_CUR : SEEK_END;
    return or_errno(int64_t{::lseek(fd, offset, whence)});
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

WEFT_OS_CALL int path_rename(const char* from, const char* to) noexcept { return or_errno(::rename(from, to)); }

WEFT_OS_CALL int path_unlink(const char* path) noexcept { return or_errno(::unlink(path)); }

WEFT_OS_CALL int path_make_directory(const char* path, uint32_t permissions) noexcept {
    return or_errno(::mkdir(path, static_cast<mode_t>(permissions)));
}

WEFT_OS_CALL int path_remove_directory(const char* path) noexcept { return or_errno(::rmdir(path)); }

}  // namespace weft::detail::os
