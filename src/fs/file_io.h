// file_io.h: system calls on files that do not hold up other green threads.
//
// Regular files and block devices: most reads find their data in the page cache and take a
// microsecond, less than a hand-off.
//
//   R1  read what is in memory (RWF_NOWAIT): done if it is a byte or more. Systems have been wrong
//       about every other result, so R3 decides
//   R2  -EAGAIN: let the ring read (file_ring.h), if there is one
//   R3  read on this thread, with the processor handed off (weft::blocking)
//
// At the descriptor's own position the ring only loads the pages, into the caller's memory as
// scratch space, and R1 follows. Unlike the ring, the system moves the position under a lock, so
// concurrent readers get different pieces.
//
// All other calls go to R3, even fsync: the kernel would run it on a thread of its own.
//
// FIFOs, terminals, sockets and pollable devices may never become ready. Calls on them wait in the
// poller (net/fd_io.h):
//
//   polled   opened here: the system call does not wait
//   socket   MSG_DONTWAIT makes each call non-blocking
//   asked    anything else that was adopted. Other processes share its mode and may change it, so
//            it is kept, and is not relied on:
//
//     Q1  read or write with RWF_NOWAIT: done if it moves a byte, or really fails: an error may be
//         reported only once
//     Q2  poll: if it is not ready, wait in the poller
//     Q3  Q1 again, because bytes may have come in between: done, unless it would wait, or the
//         system cannot tell (a terminal; pipes before Linux 6.4)
//     Q4  call on this thread with the processor handed off. A terminal is reopened for it,
//         non-blocking, with its own open file description. If that fails, a write is no longer
//         than poll() promises: one byte for a terminal, PIPE_BUF for anything else. docs/files.md
//         has the limits
//
// A FIFO opened for reading has not ended before its first writer has come. Until then a read
// returns 0, too, but poll() reports no hang-up. A writer may come, write and leave in between, so
// a read of 0 counts only after a report by poll().
//
// Rejected: Keeping a terminal's second description. One open and close per write cost less than a
//           descriptor per file. Others: docs/files.md.
//
// Threads: any thread. In a plain thread a call on a stored file is just the call.
// See:     docs/files.md
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "net/fd_io.h"
#include "os/file_calls.h"

struct iovec;

namespace weft::detail {

enum class file_way : uint8_t {
    called,  // on an OS thread: a directory, or a device that cannot be polled
    stored,  // R1 to R3
    polled,
    socket,
    asked,  // Q1 to Q4
    simulated,
};

// A file opened here is non-blocking exactly if it is polled; an adopted one is never polled.
[[nodiscard]] file_way way_of_opened(int fd, bool is_nonblocking) noexcept;
[[nodiscard]] file_way way_of_adopted(int fd) noexcept;

// Requires: the caller uses the file. offset: or os::own_position.
[[nodiscard]] io_result read_file_piece(
    const fd_use& use, file_way way, const iovec* into, std::size_t count, int64_t offset);
[[nodiscard]] io_result write_file_piece(
    const fd_use& use, file_way way, const iovec* from, std::size_t count, int64_t offset);

// See os/file_calls.h. fd: of the system, or of a simulation.
[[nodiscard]] int sync_file(int fd, bool data_only);
[[nodiscard]] int truncate_file(int fd, int64_t size);
[[nodiscard]] int status_of_file(int fd, os::file_status& s);
[[nodiscard]] int64_t seek_file(int fd, int64_t offset, os::seek_from from);

}  // namespace weft::detail
