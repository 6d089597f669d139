#include "document_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include <weft/blocking.h>

namespace http_server {

namespace {

// Opening a FIFO or a terminal must not block.
constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// These functions return a descriptor, or the negated errno: after a call that may change threads,
// errno is that of another thread.

int open_beneath(int folder, const char* path, uint64_t more) {
    open_how how{};
    how.flags = flags;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | more;
    const auto fd = static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
    return fd < 0 ? -errno : fd;
}

// The same without openat2: opens one folder after the other, and follows no symbolic links.
int open_step_by_step(int folder, std::string_view path) {
    int here = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
    while (here >= 0) {
        const std::size_t slash = path.find('/');
        const std::string name(path.substr(0, slash));
        const bool last = slash == std::string_view::npos;
        const int next = ::openat(here, name.c_str(), O_NOFOLLOW | (last ? flags : O_PATH | O_CLOEXEC | O_DIRECTORY));
        const int result = next < 0 ? -errno : next;
        ::close(here);
        if (last) return result;
        here = result;
        path.remove_prefix(slash + 1);
    }
    return here;
}

int open_below(int folder, const std::string& relative) {
    const char* const path = relative.empty() ? "." : relative.c_str();
    int fd = open_beneath(folder, path, RESOLVE_CACHED);
    if (fd == -EAGAIN || fd == -EINVAL) fd = weft::blocking([&] { return open_beneath(folder, path, 0); });
    if (fd == -ENOSYS || fd == -EPERM) fd = weft::blocking([&] { return open_step_by_step(folder, path); });
    return fd;
}

std::error_code why(int error) {
    // EXDEV: the path would leave the folder. ELOOP: symbolic links in a circle, or one that is not
    // followed.
    if (error == EXDEV || error == ELOOP || error == ENOTDIR || error == ENAMETOOLONG || error == ENXIO) error = ENOENT;
    return {error, std::generic_category()};
}

// Differs between files. Changes with the file, as far as the file system's clock resolves the
// change.
std::string tag_of(const struct stat& s) {
    std::array<char, 80> text{};
    const int size =
        std::snprintf(text.data(), text.size(), "\"%llx-%llx-%llx%08lx\"", static_cast<unsigned long long>(s.st_ino),
                      static_cast<unsigned long long>(s.st_size), static_cast<unsigned long long>(s.st_mtim.tv_sec),
                      static_cast<unsigned long>(s.st_mtim.tv_nsec));
    return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

document_root::document_root(const std::string& path)
    : folder_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ < 0) throw std::system_error(errno, std::generic_category(), path);
}

document_root::~document_root() { ::close(folder_); }

opened_file document_root::open(const std::string& relative, std::error_code& ec) const {
    std::string name = relative;  // copied first: the copy may throw, and no descriptor is open yet
    const int fd = open_below(folder_, relative);
    ec = fd < 0 ? why(-fd) : std::error_code();
    if (ec) return {};
    opened_file opened;
    opened.file = weft::fs::file::adopt(fd, std::move(name));
    struct stat s{};
    if (::fstat(fd, &s) != 0) {
        ec = {errno, std::generic_category()};
    } else if (S_ISDIR(s.st_mode)) {
        ec = std::make_error_code(std::errc::is_a_directory);
    } else if (!S_ISREG(s.st_mode)) {
        ec = std::make_error_code(std::errc::no_such_file_or_directory);
    }
    if (ec) return {};
    opened.size = static_cast<uint64_t>(s.st_size);
    opened.modified = s.st_mtim.tv_sec;
    opened.tag = tag_of(s);
    return opened;
}

}  // namespace http_server
