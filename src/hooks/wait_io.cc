// wait_io.cc: see wait_io.h.
#include "hooks/wait_io.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <weft/detail/wait.h>

#include "hooks/calls.h"

namespace weft::hooks {

bool is_nonblocking(int fd) noexcept {
    const int kept = last_error();
    const int flags = ::fcntl(fd, F_GETFL);
    set_error(kept);
    return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

int64_t deadline_after(int64_t ns) noexcept {
    const int64_t now_ns = detail::now_ns();
    return ns < detail::never - now_ns ? now_ns + ns : detail::never;
}

int64_t deadline_of_socket(int fd, bool writes) noexcept {
    timeval limit{};
    socklen_t size = sizeof(limit);
    if (::getsockopt(fd, SOL_SOCKET, writes ? SO_SNDTIMEO : SO_RCVTIMEO, &limit, &size) != 0) return detail::never;
    if (limit.tv_sec == 0 && limit.tv_usec == 0) return detail::never;
    constexpr int64_t longest_s = 1'000'000'000;
    if (limit.tv_sec > longest_s) return detail::never;
    return deadline_after(int64_t{limit.tv_sec} * 1'000'000'000 + int64_t{limit.tv_usec} * 1000);
}

int error_of(foreign_end end, int timed_out) noexcept {
    switch (end) {
        case foreign_end::timed_out:
            return timed_out;
        case foreign_end::cancelled:
            return ECANCELED;
        case foreign_end::expired:
            return ETIMEDOUT;
        case foreign_end::closed:
            return EBADF;
        case foreign_end::again:
        case foreign_end::failed:
            break;
    }
    return ENOMEM;
}

bool is_ready(int fd, short events) noexcept {
    pollfd one{fd, events, 0};
    int count = 0;
    do {
        count = real_poll(&one, 1, 0);
    } while (count < 0 && last_error() == EINTR);
    return count != 0;
}

}  // namespace weft::hooks
