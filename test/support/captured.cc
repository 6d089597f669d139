#include "captured.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace weft::test {

namespace {

// Not memfd_create, which tests of old kernels lack.
int nameless_file() {
    char path[] = "/tmp/weft-captured-XXXXXX";
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        std::perror("captured.cc: mkostemp");
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

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return lines;
}

std::size_t occurrences(std::string_view text, std::string_view word) {
    std::size_t n = 0;
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) ++n;
    return n;
}

std::string section_of(const std::string& dump, std::string_view name) {
    const std::size_t at = dump.find(name);
    if (at == dump.npos) return {};
    const std::size_t start = dump.rfind('\n', at) + 1;
    return dump.substr(start, dump.find("\n\n", at) - start);
}

}  // namespace weft::test
