// open_step_by_step.cc: the way without openat2. See beneath.h.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "http/beneath.h"

namespace weft::http::detail {

int open_step_by_step(int folder, std::string_view path) {
    constexpr int for_folders = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    constexpr int for_files = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
    int here = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
    if (here < 0) return -errno;
    for (;;) {
        const std::size_t slash = path.find('/');
        const std::string name(path.substr(0, slash));
        const bool is_last = slash == std::string_view::npos;
        const int next = ::openat(here, name.c_str(), is_last ? for_files : for_folders);
        const int result = next < 0 ? -errno : next;
        ::close(here);
        if (is_last || result < 0) return result;
        here = result;
        path.remove_prefix(slash + 1);
    }
}

}  // namespace weft::http::detail
