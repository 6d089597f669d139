// copy_memory_freebsd.cc: see cpu_sampling.h. A write to a pipe fails instead of faulting.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "os/cpu_sampling.h"

namespace weft::detail::os {

bool copy_memory(void* to, const void* from, std::size_t size) noexcept {
    constexpr std::size_t pipe_holds = 4096;  // at least
    const int kept_errno = errno;
    int ends[2];
    bool done = false;
    if (size <= pipe_holds && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
        const auto all = static_cast<ssize_t>(size);
        done = write(ends[1], from, size) == all && read(ends[0], to, size) == all;
        close(ends[0]);
        close(ends[1]);
    }
    errno = kept_errno;
    return done;
}

}  // namespace weft::detail::os
