// beneath.cc: systems without openat2; beneath_linux.cc takes its place on Linux. See beneath.h.
#include "http/beneath.h"

#include <fcntl.h>

#include <cerrno>

#include <weft/blocking.h>

namespace weft::http::detail {

int open_folder(const std::string& path) noexcept {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int open_beneath(int folder, const std::string& relative, bool follows_links) {
    return weft::blocking([&] { return open_step_by_step(folder, relative, follows_links); });
}

}  // namespace weft::http::detail
