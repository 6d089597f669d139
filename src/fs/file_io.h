// file_io.h: a call on a file that does not hold up others: what is in memory at once, what is not by the ring, or by handing the processor over.
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
// Only regular files and block devices are read by R1 and R2. Whatever else has a path (a FIFO, a terminal, a device) may not be ready for
// years, and does not know RWF_NOWAIT reliably; there R3 holds an OS thread for as long as that takes, and nothing can interrupt it.
//
// Who:  any thread. In a plain thread it is just the call.
// See:  docs/files.md
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

struct iovec;

namespace weft::detail {

// What is open.
struct opened_file {
    int fd;
    bool is_stored;  // a regular file, or a block device
};

// As the calls of os/file_calls.h: what the system call returns, or minus errno's value. offset: or os::own_position.
[[nodiscard]] ssize_t read_file_piece(const opened_file& f, const iovec* into, std::size_t count, int64_t offset);
[[nodiscard]] ssize_t write_file_piece(const opened_file& f, const iovec* from, std::size_t count, int64_t offset);
[[nodiscard]] int sync_file(const opened_file& f, bool data_only);

}  // namespace weft::detail
