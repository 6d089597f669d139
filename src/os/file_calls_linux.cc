// file_calls_linux.cc: see file_calls.h.
#include <dirent.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/atomic.h"
#include "os/fault_injection.h"
#include "os/file_calls.h"
#include "os/file_kind.h"
#include "os/never_inlined.h"
#include "os/reopened.h"
#include "os/sigpipe.h"

namespace weft::detail::os {

namespace {

constexpr int write_without_signal = 0x100;  // RWF_NOSIGNAL, Linux 6.18

// Relaxed: a thread that reads an old value only tries once more.
constinit atomic<bool> knows_write_without_signal{true};

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

WEFT_OS_CALL ssize_t try_file_read(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept {
    return or_errno(::preadv2(fd, into, static_cast<int>(count), offset, RWF_NOWAIT));
}

WEFT_OS_CALL ssize_t stream_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept {
    if (const int error = injected_failure(failure::write); error != 0) return -error;
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

WEFT_OS_CALL int open_terminal_again(int fd, bool writes) noexcept {
    if (is_main_side(fd)) return -ENXIO;
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

WEFT_OS_CALL int can_be_polled(int fd) noexcept {
    const int poller = ::epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) return -1;
    epoll_event event{};
    const bool can = ::epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0;
    ::close(poller);
    return can ? 1 : 0;
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

}  // namespace weft::detail::os
