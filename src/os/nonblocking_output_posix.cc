// nonblocking_output_posix.cc: see nonblocking_output.h.
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "os/nonblocking_output.h"
#include "os/os.h"
#include "os/poll_one.h"
#include "os/reopened.h"

namespace weft::detail::os {

const std::size_t sure_of_pipe = PIPE_BUF;

namespace {

constexpr std::size_t sure_of_terminal =
    1;  // the room seen by poll() may be gone; a line's end, which takes two, may wait

}  // namespace

nonblocking_output::~nonblocking_output() {
    if (own_ >= 0) close(own_);
}

void nonblocking_output::choose_way() noexcept {
    way_ = way::polled;
    sure_ = sure_of_pipe;
    struct stat s{};
    if (fstat(fd_, &s) != 0) return;
    if (S_ISREG(s.st_mode)) {
        way_ = way::directly;
    } else if (S_ISSOCK(s.st_mode)) {
        way_ = way::by_send;
    } else if (S_ISFIFO(s.st_mode)) {
        own_ = open_again(fd_, s);
    } else if (isatty(fd_) != 0) {
        sure_ = sure_of_terminal;
        if (!is_main_side(fd_)) own_ = open_again(fd_, s);
    }
    if (own_ >= 0) way_ = way::opened;
}

std::ptrdiff_t nonblocking_output::write_some(const char* text, std::size_t size) noexcept {
    if (way_ == way::unknown) choose_way();
    if (way_ == way::polled && !await(0)) return 0;
    const std::size_t most = way_ == way::polled ? std::min(size, sure_) : size;
    ssize_t wrote = -1;
    do {
        wrote =
            way_ == way::by_send ? ::send(fd_, text, most, MSG_DONTWAIT | MSG_NOSIGNAL) : ::write(target(), text, most);
    } while (wrote < 0 && errno == EINTR && way_ != way::polled);
    if (wrote >= 0) return wrote;
    return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

bool nonblocking_output::await(int64_t ns) noexcept {
    if (way_ == way::unknown) choose_way();
    const int64_t until_ns = monotonic_ns() + ns;
    for (int64_t left_ns = ns;; left_ns = std::max<int64_t>(until_ns - monotonic_ns(), 0)) {
        pollfd one{target(), POLLOUT, 0};
        const int ready = poll_one(one, left_ns);
        if (ready >= 0 || errno != EINTR) return ready > 0;  // the write will report an error
    }
}

}  // namespace weft::detail::os
