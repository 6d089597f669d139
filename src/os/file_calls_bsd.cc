// file_calls_bsd.cc: see file_calls.h.
#include <dirent.h>
#include <fcntl.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "os/file_calls.h"
#include "os/file_kind.h"
#include "os/never_inlined.h"
#include "os/reopened.h"
#include "os/sigpipe.h"

namespace weft::detail::os {

// The systems do not say what is in memory.
ssize_t try_file_read(int /*fd*/, const iovec* /*into*/, std::size_t /*count*/, int64_t /*offset*/) noexcept {
    return -EOPNOTSUPP;
}

WEFT_OS_CALL ssize_t stream_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept {
    const int pieces = static_cast<int>(count);
    const sigpipe_held_back signal;
    const ssize_t written =
        or_errno(offset == own_position ? ::writev(fd, from, pieces) : ::pwritev(fd, from, pieces, offset));
    if (written == -EPIPE) signal.take();
    return written;
}

// The systems know only the file's mode, which others share.
ssize_t try_stream_write(int /*fd*/, const iovec* /*from*/, std::size_t /*count*/, int64_t /*offset*/) noexcept {
    return -EOPNOTSUPP;
}

WEFT_OS_CALL int open_terminal_again(int fd, bool writes) noexcept {
    if (is_main_side(fd)) return -ENXIO;
    char path[128];
    if (const int error = ::ttyname_r(fd, path, sizeof(path)); error != 0) return -error;
    const int own = or_errno(::open(path, (writes ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (own < 0) return own;
    struct stat first{};
    struct stat second{};
    if (::fstat(fd, &first) == 0 && ::fstat(own, &second) == 0 && first.st_rdev == second.st_rdev) return own;
    ::close(own);
    return -ENXIO;
}

WEFT_OS_CALL int can_be_polled(int fd) noexcept {
    struct stat s{};
    if (::fstat(fd, &s) == 0 && (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode))) return 0;  // always ready
    const int queue = ::kqueue();
    if (queue < 0) return -1;
    struct kevent e{};
    EV_SET(&e, static_cast<uintptr_t>(fd), EVFILT_READ, EV_ADD, 0, 0, nullptr);
    const bool can = ::kevent(queue, &e, 1, nullptr, 0, nullptr) == 0;
    ::close(queue);
    return can ? 1 : 0;
}

namespace {

struct close_directory {
    void operator()(DIR* d) const noexcept { ::closedir(d); }
};

bool is_itself_or_parent(const char* name) noexcept {
    return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

}  // namespace

WEFT_OS_CALL int directory_read(int fd, void (*each)(void*, const char*, file_kind), void* closure) {
    const int own = or_errno(::fcntl(fd, F_DUPFD_CLOEXEC, 0));  // closed with the directory
    if (own < 0) return own;
    const std::unique_ptr<DIR, close_directory> directory(::fdopendir(own));
    if (directory == nullptr) {
        const int error = errno;
        ::close(own);
        return -error;
    }
    for (;;) {
        errno = 0;
        const dirent* entry = ::readdir(directory.get());
        if (entry == nullptr) return -errno;
        if (!is_itself_or_parent(entry->d_name))
            each(closure, entry->d_name, kind_of(static_cast<mode_t>(DTTOIF(entry->d_type))));
    }
}

}  // namespace weft::detail::os
