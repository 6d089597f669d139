// poller_waiters.h: which Ms sleep in the poller (netpoll.h): two at most.
//
// The problem. An event wakes the M that sleeps in the poller, which then runs a G, and may do so for long. Somebody else has to hear of the
// events that come meanwhile; but to wake another M for that, as often as a single request comes, costs more than the request. So while no P
// runs a second M may sleep in the poller beside the first. The system does the rest: on Linux an event wakes one of them only, the one that
// went there last (a kqueue may wake both, one of which goes on sleeping in the system). Requests that come one after the other are all served
// by the same thread; the other one sleeps on, and is woken when an event comes while that one runs.
//
// Interrupts. The system wakes either, also if the other one was meant. So
//
//   S1  whoever has told an M that is in the poller counts it in pending_interrupts, and then interrupts;
//   S2  an M that comes back from the poller leaves its seat; if it was told, it discounts itself;
//   S3  and, told or not, if then the count is not zero, it interrupts once more.
//
// The count may be too low for a moment, as an M may be back before it has been counted. Then the interrupt of who counts it is still to come,
// and will be passed on likewise. If an M was back by itself when it was told, its interrupt may wake the other one, which finds nothing.
//
// Who was not meant goes there again only if the other one still waits: else it might take the second interrupt, too, and pass that on, and so on.
//
// Rejected. One M only, which wakes another one whenever it leaves: where requests come each half millisecond that is more than all else
// (docs/benchmarks.md, 2000 a second). All idle Ms: an interrupt might have to be passed on many times. A signal to the one that is meant:
// handlers, and EINTR in code that is not ours.
//
// Invariants: I1. A seat is taken with the idle lock held, and left by its M, with or without the lock.
//             I2. While an M that was told sits here, pending_interrupts is above zero, or somebody is between telling one and interrupting.
// Ordering:   R1 (S1) pairs with A1 (S3), by way of the interrupt, too.
// See:        docs/netpoll.md, test/model/idle.pml
#pragma once

#include "base/assert.h"
#include "base/atomic.h"

namespace weft::detail {

struct M;

class poller_waiters {
public:
    // Whether anybody is there, or on the way there or back. With the idle lock held nobody comes.
    [[nodiscard]] bool any() const noexcept { return at(0) != nullptr || at(1) != nullptr; }

    [[nodiscard]] bool all() const noexcept { return at(0) != nullptr && at(1) != nullptr; }

    [[nodiscard]] bool has(const M* m) const noexcept { return at(0) == m || at(1) == m; }

    // One who sleeps there and has not been told. Requires the idle lock.
    [[nodiscard]] M* waiting_locked() const noexcept;

    // m is going there. Requires the idle lock, and a free seat.
    void take_locked(M* m) noexcept {
        atomic<M*>& seat = seats_[at(0) == nullptr ? 0 : 1];
        WEFT_ASSERT(seat.load(relaxed) == nullptr);  // relaxed: locked
        seat.store(m, relaxed);                      // relaxed: locked
    }

    // S1. By whoever has told an M that is there; to be followed by an interrupt.
    void count_interrupt() noexcept { pending_interrupts_.fetch_add(1, release); }  // R1

    // S2, S3. m, which has a seat, is back. told: while it was there. True: somebody else is to be fetched; interrupt.
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
