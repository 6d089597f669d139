// file_io.h: system calls on files that do not hold up other green threads.
//
// Data in memory is moved at once. Other reads use the ring or a handed-off processor. Files that
// may never become ready are waited for in the poller.
//
// Reading. Most reads find their data in the page cache and take a microsecond, less than a
// hand-off. So a read first asks for what is in memory (RWF_NOWAIT), which costs no more than a
// read. Only bytes read that way count. Any other result (EAGAIN, the end, or an error) is checked
// by an ordinary read, because systems have been wrong about each.
//
//   R1  ask for data in memory: done, if it is a byte or more. (-EOPNOTSUPP: the system cannot
//       tell; R3)
//   R2  -EAGAIN: let the ring read (file_ring.h), if there is one
//   R3  read on this thread, with the processor handed off (weft::blocking)
//
// At the descriptor's own position. The system moves the position under its own lock with each
// read, so that concurrent readers get different pieces. The ring does not. So the ring reads at
// the current position, into the caller's memory as scratch space, to have the pages loaded. Then
// R1 is tried again, which moves the position.
//
// Everything else goes to R3. It need not be slow (a write usually goes to the page cache), and
// then costs only the timing. The ring is no better for calls that are always slow (fsync): the
// kernel runs them on a thread of its own, and a second thread wakes for the answer.
//
// R1 and R2 apply only to regular files and block devices.
//
// A FIFO, a terminal, a socket, or a pollable device may never become ready. Calls on these wait in
// the poller, like those on sockets (net/fd_io.h): a deadline, a cancellation or close() ends the
// wait. How depends on the file, because all that share an open file share its mode, including
// other programs. A shell would find its terminal non-blocking, and so would every writer to that
// terminal.
//
//   polled   opened here: the system call does not wait
//   socket   MSG_DONTWAIT makes each call non-blocking
//   asked    anything else that was adopted. Its mode is kept, and is not relied on, because
//            another process may change it at any time:
//
//     Q1  read or write with RWF_NOWAIT: done, if it moves a byte or more, or really fails. An
//         error may be reported only once.
//     Q2  poll: if it is not ready, wait in the poller
//     Q3  Q1 again, because the bytes may have come between Q1 and Q2: done, unless it would wait
//         once more, or the system cannot tell (a terminal; pipes before Linux 6.4)
//     Q4  call on this thread with the processor handed off. A terminal is reopened for it,
//         non-blocking, with its own open file description. If that is impossible, a write is no
//         longer than poll() promises: one byte for a terminal, PIPE_BUF for anything else
//
// Limits of Q4: a terminal that cannot be reopened, a device, or an older system. If another
// process consumes what poll() has seen, or an end of line needs two bytes where the terminal has
// room for one, the call blocks its OS thread.
//
// A FIFO opened for reading has not ended before its first writer has come. Until then a read
// returns 0, as at the end, but poll() reports a hang-up only at the end. A writer may come, write
// and leave in between. So a read of 0 counts only if it follows a report by poll().
//
// Rejected: Making each adopted descriptor non-blocking. Other programs lose output.
// Rejected: Reopening every file through /proc/self/fd. The main side of a pseudo-terminal becomes
//           another terminal, sockets cannot be opened, and /proc may be missing.
// Rejected: Keeping a terminal's second description. One open and close per write cost less than a
//           descriptor per file.
// Rejected: Interrupting the thread by a signal. It may arrive just before the system call.
//
// Threads: any thread. In a plain thread a call on a stored file is just the call.
// See:     docs/files.md
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "net/fd_io.h"

struct iovec;

namespace weft::detail {

// How calls on an open file are made.
enum class file_way : uint8_t {
    called,  // on an OS thread: a directory, or a device that cannot be polled
    stored,  // R1 to R3
    polled,  // as above
    socket,  // as above
    asked,   // Q1 to Q4
};

// The way for a file that was just opened here, which is non-blocking exactly if it is polled; and
// for an adopted one, which is never polled.
[[nodiscard]] file_way way_of_opened(int fd, bool is_nonblocking) noexcept;
[[nodiscard]] file_way way_of_adopted(int fd) noexcept;

// One system call that moves bytes. Requires: the caller uses the file. offset: or
// os::own_position.
[[nodiscard]] io_result read_file_piece(
    const fd_use& use, file_way way, const iovec* into, std::size_t count, int64_t offset);
[[nodiscard]] io_result write_file_piece(
    const fd_use& use, file_way way, const iovec* from, std::size_t count, int64_t offset);

// As the function in os/file_calls.h.
[[nodiscard]] int sync_file(int fd, bool data_only);

}  // namespace weft::detail
