// poller_waiters.h: which Ms sleep in the poller (netpoll.h): two at most.
//
// The problem. An event wakes the M that sleeps in the poller, which then runs a G, perhaps for
// long. Another M must receive the events that come meanwhile. But to wake one for that, as often
// as a single request comes, costs more than the request. So while no P runs, a second M may sleep
// in the poller beside the first. The kernel does the rest: on Linux an event wakes only one of
// them, the one that entered last. (A kqueue may wake both, one of which then continues to sleep in
// the kernel.) Requests that come one after the other are all served by the same thread. The other
// M sleeps on, and wakes when an event comes while the first one runs.
//
// Interrupts. An interrupt wakes either M, perhaps not the notified one. So
//
//   S1  a thread that has notified an M in the poller increments pending_interrupts, and then
//       interrupts
//   S2  an M that returns from the poller leaves its seat; if it was notified, it decrements the
//       count
//   S3  then, notified or not, it interrupts once more if the count is not zero
//
// The count may be too low for a moment, because an M may be back before it has been counted. Then
// the interrupt of the thread that counts it is still to come, and is forwarded by the same rule.
// If an M was already back when it was notified, its interrupt may wake the other one, which finds
// nothing.
//
// An M that received an interrupt meant for the other one re-enters the poller only if that one is
// still waiting. Otherwise it could consume the second interrupt too, forward it, and so on without
// end.
//
// Rejected. One M only, which wakes another whenever it leaves: where a request comes each half
// millisecond, that costs more than everything else (docs/benchmarks.md, 2000 a second). All idle
// Ms: an interrupt might have to be forwarded many times. A signal to the notified one: handlers,
// and EINTR in code of the program.
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
    // Returns whether an M is there, or on its way there or back. While the idle lock is held, none
    // enters.
    [[nodiscard]] bool any() const noexcept { return at(0) != nullptr || at(1) != nullptr; }

    [[nodiscard]] bool all() const noexcept { return at(0) != nullptr && at(1) != nullptr; }

    [[nodiscard]] bool has(const M* m) const noexcept { return at(0) == m || at(1) == m; }

    // Returns an M that sleeps there and has not been notified; nullptr without one. Requires the
    // idle lock.
    [[nodiscard]] M* waiting_locked() const noexcept;

    // m is about to enter. Requires the idle lock, and a free seat.
    void take_locked(M* m) noexcept {
        atomic<M*>& seat = seats_[at(0) == nullptr ? 0 : 1];
        WEFT_ASSERT(seat.load(relaxed) == nullptr);  // relaxed: locked
        seat.store(m, relaxed);                      // relaxed: locked
    }

    // S1. Called by a thread that has notified an M there. It must interrupt afterwards.
    void count_interrupt() noexcept { pending_interrupts_.fetch_add(1, release); }  // R1

    // S2, S3. m, which has a seat, is back. told: it was notified while it was there. Returns
    // whether another M must still be fetched: the caller interrupts then.
    [[nodiscard]] bool leave(const M* m, bool told) noexcept {
        seats_[at(0) == m ? 0 : 1].store(nullptr, relaxed);              // relaxed: only its own M does so
        if (told) return pending_interrupts_.fetch_sub(1, acq_rel) > 1;  // A1
        return pending_interrupts_.load(acquire) > 0;                    // A1
    }

private:
    [[nodiscard]] M* at(int seat) const noexcept { return seats_[seat].load(relaxed); }  // relaxed: a look, or locked

    atomic<M*> seats_[2] = {};
    atomic<int> pending_interrupts_{0};
};

}  // namespace weft::detail
