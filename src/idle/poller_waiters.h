// poller_waiters.h: which Ms sleep in the poller (netpoll.h): two at most.
//
// While no P runs, a second M may sleep there beside the first, for events that come while the
// first one runs a G. On Linux an event wakes only the M that entered last. A kqueue may wake both,
// and one sleeps on in the kernel.
//
// An interrupt wakes either M, perhaps not the notified one. So
//
//   S1  a thread that has notified an M in the poller increments pending_interrupts, then
//       interrupts
//   S2  an M that returns from the poller leaves its seat; if it was notified, it decrements the
//       count
//   S3  then, notified or not, it interrupts once more if the count is not zero
//
// The count is too low while an M is back before S1 has counted it. Then the interrupt is still to
// come, and S3 forwards it. An M that received the other's interrupt re-enters only if that one
// still waits. Otherwise it could consume the second interrupt too, without end.
//
// Rejected. A signal to the notified M: EINTR in code of the program. More: docs/netpoll.md.
//
// Invariants: I1. A seat is taken with the idle lock held, and left by its M, with or without the
//                 lock.
//             I2. While a notified M has a seat, pending_interrupts is above zero, or a thread is
//                 between notifying an M and interrupting.
// Ordering:   R1 (S1) pairs with A1 (S3), also by way of the interrupt.
// See:        docs/netpoll.md, test/model/idle.pml
#pragma once

#include "base/assert.h"
#include "base/atomic.h"

namespace weft::detail {

struct M;

class poller_waiters {
public:
    // Whether an M is there, or on its way there or back. None enters while the idle lock is held.
    [[nodiscard]] bool any() const noexcept { return at(0) != nullptr || at(1) != nullptr; }

    [[nodiscard]] bool all() const noexcept { return at(0) != nullptr && at(1) != nullptr; }

    [[nodiscard]] bool has(const M* m) const noexcept { return at(0) == m || at(1) == m; }

    // An M that sleeps there and has not been notified, or nullptr. Requires the idle lock.
    [[nodiscard]] M* waiting_locked() const noexcept;

    // m is about to enter. Requires the idle lock, and a free seat.
    void take_locked(M* m) noexcept {
        atomic<M*>& seat = seats_[at(0) == nullptr ? 0 : 1];
        WEFT_ASSERT(seat.load(relaxed_locked) == nullptr);
        seat.store(m, relaxed_locked);
    }

    // S1. The caller has notified an M there, and must interrupt afterwards.
    void count_interrupt() noexcept { pending_interrupts_.fetch_add(1, release); }  // R1

    // S2, S3. m, which has a seat, is back. notified: it was notified there. True: the caller must
    // interrupt.
    [[nodiscard]] bool leave(const M* m, bool notified) noexcept {
        seats_[at(0) == m ? 0 : 1].store(nullptr, relaxed);                  // relaxed: only its own M does so
        if (notified) return pending_interrupts_.fetch_sub(1, acq_rel) > 1;  // A1
        return pending_interrupts_.load(acquire) > 0;                        // A1
    }

private:
    [[nodiscard]] M* at(int seat) const noexcept { return seats_[seat].load(relaxed); }  // relaxed: a look, or locked

    atomic<M*> seats_[2] = {};
    atomic<int> pending_interrupts_{0};
};

}  // namespace weft::detail
