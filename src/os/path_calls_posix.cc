// path_calls_posix.cc: see path_calls.h.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/time_units.h"
#include "os/never_inlined.h"
#include "os/path_calls.h"
#include "os/restarted.h"

namespace weft::detail::os {

namespace {

int directory_of(int at) noexcept { return at == here ? AT_FDCWD : at; }

timespec time_of(int64_t ns) noexcept {
    timespec t{};
    if (ns == keep_time) {
        t.tv_nsec = UTIME_OMIT;
        return t;
    }
    const int64_t rest = ns % ns_per_s;
    const int64_t before = rest < 0 ? 1 : 0;  // before 1970: the rest counts upwards, too
    t.tv_sec = static_cast<decltype(t.tv_sec)>(ns / ns_per_s - before);
    t.tv_nsec = static_cast<decltype(t.tv_nsec)>(rest + before * ns_per_s);
    return t;
}

}  // namespace

WEFT_OS_CALL int path_symlink(const char* target, const char* path) noexcept {
    return or_errno(::symlink(target, path));
}

WEFT_OS_CALL int path_link(const char* existing, const char* path) noexcept { return or_errno(::link(existing, path)); }

WEFT_OS_CALL int64_t path_read_link(const char* path, char* text, std::size_t size) noexcept {
    return or_errno(int64_t{::readlink(path, text, size)});
}

WEFT_OS_CALL int path_change_mode(const char* path, uint32_t permissions) noexcept {
    return restarted([&] { return ::chmod(path, static_cast<mode_t>(permissions)); });
}

WEFT_OS_CALL int path_set_times(const char* path, int64_t accessed_ns, int64_t modified_ns) noexcept {
    const timespec times[2] = {time_of(accessed_ns), time_of(modified_ns)};
    return or_errno(::utimensat(AT_FDCWD, path, times, 0));
}

WEFT_OS_CALL int directory_open_at(int at, const char* name) noexcept {
    return restarted(
        [&] { return ::openat(directory_of(at), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK); });
}

WEFT_OS_CALL int entry_remove_at(int at, const char* name, bool is_directory) noexcept {
    return or_errno(::unlinkat(directory_of(at), name, is_directory ? AT_REMOVEDIR : 0));
}

WEFT_OS_CALL int try_lock_file(int fd, bool shared) noexcept {
    return restarted([&] { return ::flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB); });
}

WEFT_OS_CALL int unlock_file(int fd) noexcept { return or_errno(::flock(fd, LOCK_UN)); }

}  // namespace weft::detail::os
