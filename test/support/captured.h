// captured.h: output to a file descriptor, as text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

// An unnamed file for output.
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

// While one exists, the process's standard error goes to a file.
class stderr_capture {
public:
    stderr_capture();
    ~stderr_capture();
    stderr_capture(const stderr_capture&) = delete;
    stderr_capture& operator=(const stderr_capture&) = delete;

    // The output so far.
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

// The lines of text, without line ends.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

// The number of times that word occurs in text.
[[nodiscard]] std::size_t occurrences(std::string_view text, std::string_view word);

// The part of a dump about the green thread with this name, from its line to the next empty one; ""
// if it has none.
std::string section_of(const std::string& dump, std::string_view name);

}  // namespace weft::test
