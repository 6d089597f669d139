// child.h: a started program: several callers may wait for it, and it is reaped exactly once.
//
// Problem. The system keeps a program's exit status, and its number, until the process asks for it
// (waitid). Several callers may wait. Another part of the process, which handles SIGCHLD, may ask
// first. And some caller must ask.
//
//   W1  look, without making the system forget
//   W2  store the status, under lock
//   W3  make the system forget, under lock
//
// If the system has already forgotten at W1, the caller uses the stored status. If no status is
// stored, another part of the process has asked. Newer systems still tell the descriptor's owner
// (process_recall), but a moment later than they forget, so the caller retries for that moment. On
// other systems the status is lost.
//
// Without process descriptors (before Linux 5.4, or forbidden), waiting means polling with pauses
// of 1 to 50 ms. Unlike a blocking waitid, that can be interrupted like any other wait. Signals are
// sent by number, under lock, until the system is made to forget. So are they with a descriptor if
// a system call filter refuses pidfd_send_signal, as older container filters do.
//
// A program that leads a process group is not forgotten (W3) before leave(). Until then its number
// means that group, which may outlive the program, and no other process gets the number.
//
// Invariants: H1. The number means this program, and the group that it leads, until W3; reaped_
//                 tells.
// Locks:      lock_ (leaf; non-blocking system calls are made under it).
// Threads:    any thread.
// See:        docs/processes.md
#pragma once

#include <cstdint>

#include <weft/detail/fd_handle.h>
#include <weft/detail/spin_lock.h>
#include <weft/process.h>

#include "net/fd_io.h"

namespace weft::detail {

class child {
public:
    // descriptor: of the process; empty if the system has none. leads_group: it has its own process
    // group.
    child(int pid, fd_handle descriptor, bool leads_group) noexcept;

    // Waits for its end until deadline_ns; fills status if the result is done. failed with ECHILD:
    // the status is lost.
    [[nodiscard]] io_result wait(exit_status& status, int64_t deadline_ns) noexcept;

    // Returns 0 or an errno value; ESRCH: it has ended.
    [[nodiscard]] int kill(int signal) noexcept;

    // The same for all processes of the group that it leads. ESRCH: no process is left; EINVAL: it
    // leads no group.
    [[nodiscard]] int kill_group(int signal) noexcept;

    // Gives up the status: the system is made to forget the program when it ends.
    void leave() noexcept;

private:
    [[nodiscard]] int look_locked() noexcept WEFT_REQUIRES(lock_);

    [[nodiscard]] bool has_ended_locked() const noexcept WEFT_REQUIRES(lock_) { return known_ || reaped_; }

    void reap_locked() noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] ssize_t look(exit_status& status) noexcept;
    [[nodiscard]] io_result wait_by_looking(exit_status& status, int64_t deadline_ns) noexcept;

    fd_handle descriptor_;
    const int pid_;
    const bool leads_group_;
    spin_lock lock_;
    // Guarded by lock_.
    exit_status status_ WEFT_GUARDED_BY(lock_);
    bool known_ WEFT_GUARDED_BY(lock_) = false;   // status_ is valid
    bool reaped_ WEFT_GUARDED_BY(lock_) = false;  // the number may belong to another process
};

}  // namespace weft::detail
