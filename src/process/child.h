// child.h: a program that was started here: how it is waited for, by several, and forgotten by the system once.
//
// The problem. The system keeps how a program has ended until somebody asks (waitid), and then forgets it, its number included. Several may
// wait for it; somebody else in the process, who handles SIGCHLD, may ask first; and it must be asked by somebody.
//
//   W1  look, without making the system forget
//   W2  write down how it has ended, under lock
//   W3  make the system forget, under lock
//
// Whoever finds at W1 that the system has forgotten looks at what is written down. If nothing is, somebody else in the process has asked; newer systems
// tell the descriptor's owner nevertheless (process_recall), a moment later than they forget: for that moment a caller looks again and again. Else
// the answer is lost.
//
// Where the system has no descriptors of processes (before Linux 5.3, or forbidden) waiting is looking, again and again, with pauses of 1 to 50
// ms: it can be interrupted like any other wait, which a waitid that blocks its thread could not. Signals are sent by number, under lock,
// as long as the system has not been made to forget. They are also sent so where there are descriptors, but a filter of system calls refuses
// pidfd_send_signal, as containers' filters did that are older than the call.
//
// A program that leads a process group is not forgotten (W3) before leave(): until then its number means that group, which may have members left
// after the program has ended, and no other process gets the number.
//
// Invariants: H1. The number means this program, and the group that it leads, until W3; reaped_ says so.
// Locks:      lock_ (leaf; system calls that do not block are made under it).
// Who:        any thread.
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
    // descriptor: of the process; none where the system has none. leads_group: it has a process group of its own.
    child(int pid, fd_handle descriptor, bool leads_group) noexcept;

    // Waits for its end until deadline_ns; status is filled if the result is done. failed with ECHILD: nobody knows how.
    [[nodiscard]] io_result wait(exit_status& status, int64_t deadline_ns) noexcept;

    // Returns 0 or an errno value; ESRCH: it has ended.
    [[nodiscard]] int kill(int signal) noexcept;

    // The same for all processes of the group that it leads. ESRCH: none is left; EINVAL: it leads none.
    [[nodiscard]] int kill_group(int signal) noexcept;

    // Nobody will ask any more. It is seen to that the system forgets it when it ends.
    void leave() noexcept;

private:
    [[nodiscard]] int look_locked() noexcept;

    [[nodiscard]] bool has_ended_locked() const noexcept { return known_ || reaped_; }

    void reap_locked() noexcept;
    [[nodiscard]] ssize_t look(exit_status& status) noexcept;
    [[nodiscard]] io_result wait_by_looking(exit_status& status, int64_t deadline_ns) noexcept;

    fd_handle descriptor_;
    const int pid_;
    const bool leads_group_;
    spin_lock lock_;
    // Guarded by lock_.
    exit_status status_;
    bool known_ = false;   // status_ is
    bool reaped_ = false;  // the number may be another process's
};

}  // namespace weft::detail
