// file_ring.h: file reads by io_uring, one ring per runtime, while the green thread is parked.
//
// Handing off the processor for a read that misses the page cache costs an OS thread, two wake-ups,
// and a kernel context switch. Instead:
//
//   O1  The green thread puts a request into the ring, under the lock queueing. At most entries
//       requests are pending. If the ring is full, the caller makes the call itself.
//   O2  Unless another thread is submitting, it submits until no request is left, without the lock.
//       So several share one system call.
//   O3  It waits. The operation, in its frame, says whether it is done; the operation's own lock
//       orders that and parking.
//   O4  The polling thread sees that the ring is readable (event_source.h), takes all completions,
//       marks each operation as done, and wakes its green thread.
//
// Neither cancellation nor a deadline ends the wait, because the kernel writes into the caller's
// memory until the completion. So the ring serves only files that depend on a disk, not on another
// writer. A stopping runtime waits for the kernel before it frees its stacks (end).
//
// After an error the caller repeats the call in the ordinary way. The kernel may not support the
// operation, or the submitting thread may have ended, which ends its requests.
//
// The kernel copies a page from the disk in the submitting thread, which it can interrupt for that,
// except in an uninterruptible wait.
//
// Rejected: One ring per process. It would be unknown when it no longer refers to a runtime's
//           memory.
// Rejected: One ring per P. Completions could be fetched only when a P's M comes by.
// Rejected: Holding the lock while submitting. Other threads would spin for tens of microseconds.
//
// Invariants: F1. under_way counts requests from O1 until their completion is popped, or they are
//                 taken back; at most entries, so there is always room for a completion.
//             F2. While submitting_, exactly one thread calls submit() and take_back().
// Ordering:   R1 (an operation is made, and counted) pairs with A1 (its completion is subtracted,
//             before it is examined). The kernel orders them too, but not in terms of C++.
// Locks:      queueing; fetching, then an operation's own (leaf).
// Threads:    run: a green thread. collect: the polling thread. end: the thread that stops the
//             runtime.
// See:        docs/files.md
#pragma once

#include <cstdint>
#include <memory>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "netpoll/event_source.h"
#include "os/io_ring.h"

namespace weft::detail {

class file_ring final : public event_source {
public:
    // nullptr if the caller is a plain thread, the system lacks or forbids rings, or
    // RUN_IO_URING=0.
    [[nodiscard]] static file_ring* of_caller() noexcept;

    // Performs r (the ring sets its tag) and waits. Returns the number of bytes read; 0 or less:
    // repeat the call in the ordinary way.
    [[nodiscard]] int run(os::ring_request r) noexcept;

    [[nodiscard]] waiter* collect() noexcept override;
    void end() noexcept override;

private:
    struct operation;

    [[nodiscard]] static std::unique_ptr<event_source> make(int& fd) noexcept;
    [[nodiscard]] bool put(const os::ring_request& r) noexcept;
    void submit_locked() noexcept WEFT_RELEASE(queueing_);
    [[nodiscard]] waiter* take_all_back_locked() noexcept WEFT_REQUIRES(queueing_);

    os::io_ring ring_;
    atomic<uint32_t> under_way_{0};  // F1

    spin_lock queueing_;
    // Guarded by queueing_.
    uint32_t pending_ WEFT_GUARDED_BY(queueing_) = 0;  // put in, and not submitted
    uint32_t rounds_ WEFT_GUARDED_BY(queueing_) = 0;   // of the submitting thread
    bool submitting_ WEFT_GUARDED_BY(queueing_) = false;

    alignas(cache_line) spin_lock fetching_;
};

}  // namespace weft::detail
