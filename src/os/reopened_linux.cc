// reopened_linux.cc: see reopened.h.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "os/reopened.h"

namespace weft::detail::os {

namespace {

bool is_same_file(int fd, const struct stat& as) noexcept {
    struct stat s{};
    return fstat(fd, &s) == 0 && s.st_dev == as.st_dev && s.st_ino == as.st_ino && s.st_rdev == as.st_rdev;
}

}  // namespace

bool is_main_side(int terminal) noexcept {
    int number = 0;
    return ioctl(terminal, TIOCGPTN, &number) == 0;
}

int open_again(int fd, const struct stat& as) noexcept {
    char path[32];
    std::snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0 || is_same_file(own, as)) return own;
    close(own);  // fd has just become another file
    return -1;
}

}  // namespace weft::detail::os
