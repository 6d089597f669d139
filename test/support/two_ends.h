// two_ends.h: two descriptors; writes to one are read from the other.
#pragma once

#include <fcntl.h>

namespace weft::test {

// Closes what is still open when destroyed.
class two_ends {
public:
    // No descriptors yet.
    two_ends() = default;
    two_ends(two_ends&& other) noexcept;
    two_ends& operator=(two_ends&&) = delete;
    ~two_ends();

    // Without O_CLOEXEC, for a child that inherits them.
    [[nodiscard]] static two_ends of_pipe(int flags = O_CLOEXEC);
    // With a buffer of one page.
    [[nodiscard]] static two_ends of_small_pipe();
    [[nodiscard]] static two_ends of_sockets();
    // A pseudo terminal, written by the program on it. Empty if the system has none.
    [[nodiscard]] static two_ends of_terminal();

    explicit operator bool() const { return read_end_ >= 0; }

    [[nodiscard]] int read_end() const { return read_end_; }

    [[nodiscard]] int write_end() const { return write_end_; }

    void close_read_end();
    void close_write_end();

    // Writes until the buffer is full.
    void fill() const;

private:
    two_ends(int read_end, int write_end) : read_end_(read_end), write_end_(write_end) {}

    int read_end_ = -1;
    int write_end_ = -1;
};

}  // namespace weft::test
