// nonblocking_output.h: writes to a descriptor of the program without ever waiting for its reader.
//
// Problem. stderr may be a pipe or a terminal that is not read. Making it non-blocking would affect
// other processes, which share the open file. And poll() promises little: one page of a pipe, not
// even a line of a terminal, and nothing if others write too.
//
// So the kind of file decides:
//
//   a pipe, a FIFO, a terminal     is reopened, non-blocking, through /proc/self/fd
//   a socket                       is sent to with MSG_DONTWAIT
//   a regular file                 is written directly: no reader delays it; a reopened one would
//                                  start at its beginning
//   anything else                  and a pty's master, which would become another pty: is polled,
//                                  and written in pieces that fit unless others write too
//
// This object lives for one report and closes what it has reopened. So it does not keep a pipe
// open.
//
// Rejected: O_NONBLOCK during the write: other writers would get EAGAIN.
// Rejected: A thread that may block: it must be waited for, or left behind.
// Rejected: A signal that interrupts the write: no other code could use it.
// Rejected: RWF_NOWAIT: terminals refuse it, and older kernels on pipes.
//
// Threads: any thread; one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

// How much a pipe that polls as writable accepts without waiting, unless others write too:
// PIPE_BUF.
extern const std::size_t sure_of_pipe;

class nonblocking_output {
public:
    explicit nonblocking_output(int fd) noexcept : fd_(fd) {}

    ~nonblocking_output();

    nonblocking_output(const nonblocking_output&) = delete;
    nonblocking_output& operator=(const nonblocking_output&) = delete;

    // Returns the number of bytes that were accepted; -1: no more ever will be.
    [[nodiscard]] std::ptrdiff_t write_some(const char* text, std::size_t size) noexcept;

    // Returns false if nothing is accepted for ns; true also if write_some() will return -1.
    [[nodiscard]] bool await(int64_t ns) noexcept;

private:
    enum class way : uint8_t { unknown, directly, by_send, opened, polled };

    void choose_way() noexcept;

    [[nodiscard]] int target() const noexcept { return own_ >= 0 ? own_ : fd_; }

    int fd_;
    int own_ = -1;  // the reopened descriptor
    way way_ = way::unknown;
    std::size_t sure_ = 0;  // if polled: accepted for sure
};

}  // namespace weft::detail::os
