// file_ring.h: reads from files that green threads wait for, while the kernel works them off: the ring of one runtime.
//
// The problem. A read that is not in the page cache takes as long as the disk does. Handing the processor over for it (weft::blocking) costs an
// OS thread for each read under way, two wake-ups, and a switch of the kernel. io_uring takes the request instead, and says when it is
// done: the green thread parks, its OS thread goes on with others.
//
// An operation:
//
//   O1  the green thread puts a request into the ring, under the lock queueing; there is room for so many, and no more than that many are
//       under way. Full: it makes the call itself, handing its processor over
//   O2  unless somebody else is just submitting, it does so: until no request is left, it makes the kernel take them, without the lock. Who
//       puts one in meanwhile leaves that to it: so several go by one system call, and no lock is held over one
//   O3  it waits. The operation, in its frame, says whether it is done; a lock of its own orders that and parking
//   O4  whoever polls hears that the ring is readable (event_source.h), takes all completions, marks each operation as done, and wakes its
//       green thread
//
// Nothing interrupts a wait: the kernel writes into the caller's memory until it says that it is done. So what is read from a file is neither
// cancelled nor does a deadline end it. For the same reason only those files come here for which that is a matter of a disk, not of
// somebody who writes (file_io.h), and a runtime that stops waits for the kernel before its stacks go (end).
//
// Errors are not told from here: the caller asks again in the ordinary way. It may be no error at all (the kernel does not know how; the thread
// that had submitted the request has ended meanwhile, which ends it), and if it is one, the system says so again.
//
// Which thread a completion needs. The kernel copies a page that has come from the disk when the thread that had submitted the request passes
// by, and interrupts it for that, be it in user code, in the poller or asleep on a futex. Only one in an uninterruptible wait keeps it
// waiting: as long as a disk may take, again.
//
// Rejected. One ring for the process: it would have to be in somebody's poller for ever, and nobody could say when a runtime's memory is free
// of it. One for each P: memory and descriptors for each, and completions could only be fetched where a P's M comes by. Holding the lock while
// submitting: others would spin for tens of microseconds.
//
// Invariants: F1. under_way counts requests from O1 until their completion has been popped, or they were taken back; entries at most, so there
//                 is always room for a completion.
//             F2. While submitting_, one thread, and only that, calls submit() and take_back().
// Ordering:   R1 (an operation is made, and counted) pairs with A1 (its completion is counted off, before it is looked at). The kernel, which has
//             been given the one and gives the other, orders them, too; but of that C++ knows nothing.
// Locks:      queueing; fetching, then an operation's own (leaf).
// Who:        run: a green thread. collect: whoever polls. end: who stops the runtime.
// See:        docs/files.md
#pragma once

#include <cstdint>
#include <memory>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "os/io_ring.h"
#include "sched/event_source.h"

namespace weft::detail {

class file_ring final : public event_source {
public:
    // That of the caller's runtime; nullptr: the caller is a plain thread, or there is none, because the system has none, forbids it, or
    // RUN_IO_URING=0.
    [[nodiscard]] static file_ring* of_caller() noexcept;

    // Has r done (its tag is ours), and waits. Returns how many bytes were read; 0 or less: ask in the ordinary way.
    [[nodiscard]] int run(os::ring_request r) noexcept;

    [[nodiscard]] waiter* collect() noexcept override;
    void end() noexcept override;

private:
    struct operation;

    [[nodiscard]] static std::unique_ptr<event_source> make(int& fd) noexcept;
    [[nodiscard]] bool put(const os::ring_request& r) noexcept;
    void submit_locked() noexcept;
    [[nodiscard]] waiter* take_all_back_locked() noexcept;

    os::io_ring ring_;
    atomic<uint32_t> under_way_{0};  // F1

    spin_lock queueing_;
    // Guarded by queueing_.
    uint32_t pending_ = 0;  // put in, and not submitted
    uint32_t rounds_ = 0;   // of who submits
    bool submitting_ = false;

    alignas(cache_line) spin_lock fetching_;
};

}  // namespace weft::detail
