// child.h: a started program: several callers may wait for it, and it is reaped exactly once.
//
// Another part of the process may ask for the status first (waitid).
//
//   W1  look, without making the system forget
//   W2  store the status, under lock
//   W3  make the system forget, under lock
//
// If the system has forgotten at W1, the caller uses the stored status. Without one, newer systems
// still tell the descriptor's owner (process_recall), but a moment later, so the caller retries. On
// other systems the status is lost.
//
// Without a descriptor, or if a system call filter refuses pidfd_send_signal, signals are sent by
// number, under lock, until W3.
//
// A program that leads a process group is not forgotten (W3) before leave(), because the group may
// outlive it.
//
// Invariants: H1. The number means this program, and the group that it leads, until W3 (reaped_).
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
    // descriptor: of the process; empty if the system has none.
    child(int pid, fd_handle descriptor, bool leads_group) noexcept;

    // Fills status if the result is done. failed with ECHILD: the status is lost.
    [[nodiscard]] io_result wait(exit_status& status, int64_t deadline_ns) noexcept;

    // Returns 0 or an errno value; ESRCH: it has ended.
    [[nodiscard]] int kill(int signal) noexcept;

    // For the group that it leads. ESRCH: no process is left; EINVAL: it leads no group.
    [[nodiscard]] int kill_group(int signal) noexcept;

    // Gives up the status: the system forgets the program when it ends.
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
