// beneath_linux.cc: openat2. See beneath.h.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include <weft/blocking.h>

#include "http/beneath.h"

namespace weft::http::detail {

namespace {

constexpr int attempts = 8;

int open_by_kernel(int folder, const char* path, uint64_t more) {
    open_how how{};
    how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | more;
    const auto fd = static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
    return fd < 0 ? -errno : fd;
}

}  // namespace

int open_folder(const std::string& path) noexcept {
    const int fd = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int open_beneath(int folder, const std::string& relative, bool follows_links) {
    const char* const path = relative.empty() ? "." : relative.c_str();
    const uint64_t links = follows_links ? 0 : RESOLVE_NO_SYMLINKS;
    int fd = open_by_kernel(folder, path, links | RESOLVE_CACHED);
    // A path with ".." fails with EAGAIN while any process renames anything.
    for (int attempt = 0; attempt < attempts && (fd == -EAGAIN || fd == -EINVAL); ++attempt)
        fd = weft::blocking([&] { return open_by_kernel(folder, path, links); });
    if (fd == -ENOSYS || fd == -EPERM || fd == -EAGAIN)
        fd = weft::blocking([&] { return open_step_by_step(folder, relative, follows_links); });
    return fd;
}

}  // namespace weft::http::detail
