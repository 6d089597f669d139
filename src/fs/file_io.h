// file_io.h: a call on a file that does not hold up others: what is in memory at once, what is not by the ring, or by handing the processor over;
// what may never come by waiting in the poller.
//
// Reading. Most reads find what they want in the page cache, and take a microsecond; for them any hand-over would be the larger part. So a
// read first asks for what is there (RWF_NOWAIT), which costs no more than a read. Only what that has read counts: anything else it says, be it
// "not now", the end, or an error, is asked once more in the ordinary way, since systems have been wrong about each.
//
//   R1  ask for what is in memory: done, if that is a byte or more. (-EOPNOTSUPP: the system cannot tell; R3)
//   R2  -EAGAIN: let the ring read (file_ring.h), if there is one
//   R3  read, on this thread, with the processor given to others (weft::blocking)
//
// At the descriptor's own position. The system moves that under a lock of its own with each read, so that two who read at a time get
// different pieces. The ring does not do so. There the ring reads at where the position is now, into the caller's memory as a scratch
// pad, to have the pages brought in; and R1 is tried once more, which moves the position as it should.
//
// Everything else goes to R3: it need not be slow (a write goes to the page cache as a rule), and then it costs no more than being timed. Nor
// is the ring any better for what always is (fsync): the kernel has a thread of its own do it there, and a second one wakes for the answer.
//
// Only regular files and block devices are read by R1 and R2.
//
// What may not be ready for years: a FIFO, a terminal, a socket, a device that can be polled. A call on it waits in the poller, as one on a
// socket does (net/fd_io.h): a deadline, a cancellation or close() ends the wait. There are two ways, because a descriptor's mode belongs to all
// that share the open file, other programs included: a shell finds its terminal non-blocking, and so does whatever writes to the same terminal.
//
//   polled   it was opened here: the system call does not wait
//   socket   MSG_DONTWAIT makes each call one that does not wait
//   asked    anything else that was taken over. Its mode stays, and is not relied on, because another process may change it at any time:
//
//     Q1  read or write with RWF_NOWAIT: done, if it moves a byte or more, or fails for good. An error may be reported only once.
//     Q2  poll: if it is not ready, wait in the poller
//     Q3  Q1 again, because the bytes may have come between Q1 and Q2: done, unless it would wait once more, or the system cannot tell (a
//         terminal; pipes before Linux 6.4)
//     Q4  call on this thread with the processor given to others. A terminal is opened once more for it, non-blocking: a description of its
//         own. Of what cannot be opened so, a write is no longer than poll() promises: one byte of a terminal, PIPE_BUF of anything else
//
// What remains of Q4: a terminal that cannot be opened once more, a device, or an older system. If another process takes what poll() has
// seen, or a line's end needs two bytes where the terminal has room for one, the call waits on its OS thread.
//
// A FIFO that no process has opened for writing since this one opened it to read has not ended: its first writer is still to come. The system
// returns 0 from a read of it, as at the end, but only at the end does poll() report that the other side has hung up. A writer may have come,
// written and left between the two: so a read of 0 counts only if it follows a report by poll().
//
// Rejected. To make each descriptor that is taken over non-blocking: other programs lose output for it. To open every file a second time through
// /proc/self/fd: the main side of a pseudo-terminal becomes another terminal, sockets cannot be opened, and /proc may be missing. To keep the
// second description of a terminal: one open and close for each write cost less than a descriptor for each file. To interrupt the thread by a
// signal: it may come just before the system call.
//
// Who:  any thread. In a plain thread a call on a stored file is just the call.
// See:  docs/files.md
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "net/fd_io.h"

struct iovec;

namespace weft::detail {

// How calls on an open file are made.
enum class file_way : uint8_t {
    called,  // on an OS thread: a directory, a device that cannot be polled
    stored,  // R1 to R3
    polled,  // as above
    socket,  // as above
    asked,   // Q1 to Q4
};

// That of a file which was just opened here, and is made non-blocking exactly if it is polled; or of one that is taken over, which is never
// polled.
[[nodiscard]] file_way way_of_opened(int fd, bool is_nonblocking) noexcept;
[[nodiscard]] file_way way_of_adopted(int fd) noexcept;

// By a user of a file: one system call that moves bytes. offset: or os::own_position.
[[nodiscard]] io_result read_file_piece(
    const fd_use& use, file_way way, const iovec* into, std::size_t count, int64_t offset);
[[nodiscard]] io_result write_file_piece(
    const fd_use& use, file_way way, const iovec* from, std::size_t count, int64_t offset);

// As the call of os/file_calls.h.
[[nodiscard]] int sync_file(int fd, bool data_only);

}  // namespace weft::detail
