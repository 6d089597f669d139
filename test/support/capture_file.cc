// capture_file.cc: the files of captured.h.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "captured.h"

namespace weft::test {

namespace {

// Not memfd_create, which tests of old kernels lack.
int nameless_file() {
    char path[] = "/tmp/weft-captured-XXXXXX";
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        std::perror("capture_file.cc: mkostemp");
        std::abort();
    }
    unlink(path);
    return fd;
}

}  // namespace

capture_file::capture_file() : fd_(nameless_file()) {}

capture_file::~capture_file() { close(fd_); }

std::string capture_file::text() const {
    const off_t size = lseek(fd_, 0, SEEK_END);
    std::string text(size < 0 ? 0 : static_cast<std::size_t>(size), '\0');
    const ssize_t got = pread(fd_, text.data(), text.size(), 0);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
}

stderr_capture::stderr_capture() : before_(dup(STDERR_FILENO)) {
    std::fflush(stderr);
    dup2(file_.fd(), STDERR_FILENO);
}

stderr_capture::~stderr_capture() {
    std::fflush(stderr);
    dup2(before_, STDERR_FILENO);
    close(before_);
}

std::string stderr_capture::text() const {
    std::fflush(stderr);
    return file_.text();
}

}  // namespace weft::test
