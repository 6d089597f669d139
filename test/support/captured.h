// captured.h: what code writes to a file descriptor, as text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

// A file without a name that takes what is written.
class capture_file {
public:
    capture_file();
    ~capture_file();
    capture_file(const capture_file&) = delete;
    capture_file& operator=(const capture_file&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_; }

    [[nodiscard]] std::string text() const;

private:
    int fd_;
};

// Lets the process's standard error go to a file for as long as it exists.
class stderr_capture {
public:
    stderr_capture();
    ~stderr_capture();
    stderr_capture(const stderr_capture&) = delete;
    stderr_capture& operator=(const stderr_capture&) = delete;

    // What was written so far.
    [[nodiscard]] std::string text() const;

private:
    capture_file file_;
    int before_;
};

// What write(fd) writes.
template <typename F>
[[nodiscard]] std::string written_by(F&& write) {
    const capture_file file;
    write(file.fd());
    return file.text();
}

// What body writes to standard error.
template <typename F>
[[nodiscard]] std::string stderr_of(F&& body) {
    const stderr_capture capture;
    body();
    return capture.text();
}

// The lines of text, without their ends.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

// How often word is in text.
[[nodiscard]] std::size_t occurrences(std::string_view text, std::string_view word);

// The part of a dump that speaks of the green thread with this name: from its line to the next empty one. "": there is none.
std::string section_of(const std::string& dump, std::string_view name);

}  // namespace weft::test
