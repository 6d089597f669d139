// nonblocking_output.h: writes to a descriptor of the program without ever waiting for its reader.
//
// Problem. stderr may be connected to something that is not read: a full pipe, a stopped terminal,
// a reader that hangs. Its flags belong to the open file, which the shell, other processes and the
// program share. So it cannot be made non-blocking. And poll() promises little: one page of a pipe,
// not even a line of a terminal, and nothing if others write at the same moment.
//
// So the kind of file decides:
//
//   a pipe, a FIFO, a terminal     is reopened, non-blocking, through /proc/self/fd: another open
//                                  file with its own flags
//   a socket                       is sent to with MSG_DONTWAIT
//   a regular file                 is written directly: no reader delays it, and reopened it would
//                                  start at its beginning
//   anything else                  also what cannot be reopened: is polled, and then written in
//                                  pieces that it accepts for sure unless others write at that
//                                  moment; for a terminal, byte by byte
//
// The reopened descriptor is closed with this object, which lives for one report. So it refers to
// the current file, and a pipe's end is not kept open for long (except in a child forked in that
// time, until it executes a program). A pty's master is never reopened: that would make another
// pty.
//
// Rejected: O_NONBLOCK by fcntl during the write. Other writers would get EAGAIN.
// Rejected: A thread that may block instead of us. It must be waited for, or left behind.
// Rejected: A signal that interrupts the write. It would have to be one that no other code uses.
// Rejected: RWF_NOWAIT. Terminals refuse it, and so do older kernels on pipes.
//
// Threads: any thread; one at a time.
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

    // Writes as many of size bytes as are accepted now. Returns their number; -1: none ever will
    // be.
    [[nodiscard]] std::ptrdiff_t write_some(const char* text, std::size_t size) noexcept;

    // Waits for at most ns until something is accepted. Returns false if nothing is. Also returns
    // true if write_some() is going to return -1.
    [[nodiscard]] bool await(int64_t ns) noexcept;

private:
    enum class way : uint8_t { unknown, directly, by_send, opened, polled };

    void choose_way() noexcept;

    [[nodiscard]] int target() const noexcept { return own_ >= 0 ? own_ : fd_; }

    int fd_;
    int own_ = -1;  // the reopened descriptor
    way way_ = way::unknown;
    std::size_t sure_ = 0;  // if polled: how much it accepts once ready
};

}  // namespace weft::detail::os
