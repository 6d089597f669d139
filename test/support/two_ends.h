// two_ends.h: two descriptors, where what is written to the one is read from the other.
#pragma once

#include <fcntl.h>

namespace weft::test {

// Closes what is still open when it goes.
class two_ends {
public:
    // None yet.
    two_ends() = default;
    two_ends(two_ends&& other) noexcept;
    two_ends& operator=(two_ends&&) = delete;
    ~two_ends();

    // A child that is to have them wants them without O_CLOEXEC.
    [[nodiscard]] static two_ends of_pipe(int flags = O_CLOEXEC);
    // Of one page.
    [[nodiscard]] static two_ends of_small_pipe();
    [[nodiscard]] static two_ends of_sockets();
    // A pseudo terminal, written to by the program on it. None: the system has none.
    [[nodiscard]] static two_ends of_terminal();

    explicit operator bool() const { return read_end_ >= 0; }

    [[nodiscard]] int read_end() const { return read_end_; }

    [[nodiscard]] int write_end() const { return write_end_; }

    void close_read_end();
    void close_write_end();

    // Writes until no more fits.
    void fill() const;

private:
    two_ends(int read_end, int write_end) : read_end_(read_end), write_end_(write_end) {}

    int read_end_ = -1;
    int write_end_ = -1;
};

}  // namespace weft::test
