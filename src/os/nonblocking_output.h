// nonblocking_output.h: writing to a descriptor of the program's without ever waiting for whoever reads it.
//
// The problem. What stderr is connected to may not be read: a full pipe, a terminal that was stopped, a reader that hangs. Its flags belong
// to the open file, which the shell, other processes and the program's own writers use, too: so it cannot be made non-blocking. And poll()
// promises little: of a pipe one page, of a terminal not even a line; and nothing if others write at the same moment.
//
// So what is behind it decides:
//
//   a pipe, a FIFO, a terminal     is opened once more, non-blocking, by way of /proc/self/fd: another open file, with flags of its own
//   a socket                       is sent to with MSG_DONTWAIT
//   a regular file                 is written directly: no reader holds it up, and opened once more it would begin at its beginning
//   anything else; what cannot     is polled, and then written to in pieces that it surely takes, if nobody else writes at that moment:
//   be opened                      of a terminal, byte by byte
//
// What is opened is closed with this object, which lives for one report: so it is the file that the descriptor means then, and the end of a
// pipe is not kept open for long (but in a child of fork that came then, until it executes a program). A pty's master is never opened once
// more: that would make another pty.
//
// Rejected. O_NONBLOCK by fcntl for the time of a write (others get EAGAIN). A thread that may block instead of us (it has to be waited
// for, or left behind). A signal that interrupts the write (whose?). RWF_NOWAIT (terminals refuse it, and older kernels on pipes).
//
// Who: any thread; one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

class nonblocking_output {
public:
    explicit nonblocking_output(int fd) noexcept : fd_(fd) {}

    ~nonblocking_output();

    nonblocking_output(const nonblocking_output&) = delete;
    nonblocking_output& operator=(const nonblocking_output&) = delete;

    // Writes as many of size bytes as are taken now. Returns how many; -1: none will ever be.
    [[nodiscard]] std::ptrdiff_t write_some(const char* text, std::size_t size) noexcept;

    // Waits until something is taken, for that long at most. False: nothing is. True also if write_some() is going to return -1.
    [[nodiscard]] bool await(int64_t ns) noexcept;

private:
    enum class way : uint8_t { unknown, directly, by_send, opened, polled };

    void choose_way() noexcept;

    [[nodiscard]] int target() const noexcept { return own_ >= 0 ? own_ : fd_; }

    int fd_;
    int own_ = -1;  // what was opened once more
    way way_ = way::unknown;
    std::size_t sure_ = 0;  // of what is polled: how much it takes then
};

}  // namespace weft::detail::os
