// socket_set_linux.cc: see socket_set.h. By an epoll of its own, level-triggered.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "http_client/socket_set.h"

namespace weft::http::detail {

namespace {

int make_epoll() {
    const int fd = ::epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) {
        throw std::system_error(errno, std::generic_category(),
                                "weft: http::client: no descriptor for its sockets; see ulimit -n");
    }
    return fd;
}

}  // namespace

socket_set::socket_set() : fd_(make_epoll()), watched_(fd_) {}

socket_set::~socket_set() {
    { const watched_fd gone = std::move(watched_); }
    ::close(fd_);
}

bool socket_set::watch(int fd, bool for_reading, bool for_writing) noexcept {
    epoll_event what{};
    what.events = (for_reading ? unsigned{EPOLLIN} : 0U) | (for_writing ? unsigned{EPOLLOUT} : 0U);
    what.data.fd = fd;
    if (::epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &what) == 0) return true;
    if (errno != ENOENT || ::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &what) != 0) return false;
    ++size_;
    return true;
}

void socket_set::forget(int fd) noexcept {
    if (::epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr) == 0) --size_;
}

std::size_t socket_set::ready(std::span<event> events) noexcept {
    std::array<epoll_event, 64> raw;
    const int most = static_cast<int>(std::min(events.size(), raw.size()));
    const int count = ::epoll_wait(fd_, raw.data(), most, 0);
    if (count < 0) return 0;  // EINTR: the next wait sees them
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const unsigned bits = raw[i].events;
        events[i] = {raw[i].data.fd, (bits & (EPOLLIN | EPOLLHUP)) != 0, (bits & EPOLLOUT) != 0,
                     (bits & EPOLLERR) != 0};
    }
    return static_cast<std::size_t>(count);
}

}  // namespace weft::http::detail
