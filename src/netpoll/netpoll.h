// netpoll.h: the poller of one runtime: which thread fetches the events of files, and when.
//
// While the poller is in use, at least one of these is responsible:
//
//   N1  An idle M that sleeps in the poller instead of on its note (plan_park.h). It may be that of
//       a pinned G.
//   N2  An M that has found nothing in its queues. It polls without waiting, before it steals or
//       sleeps, unless an M is in the poller. Every 61st schedule through g0 polls too, if the ring
//       has room for a batch.
//   N3  The near sentinel (idle.h). It sleeps on its note, because a running P fetches most events,
//       and polls without waiting when it wakes.
//   N4  The monitor (sysmon.h), while no P is idle, if no thread has polled for stale_ns.
//   N5  A second idle M beside that of N1, while no P runs (poller_waiters.h).
//
// What an M fetches goes into the queue of the idle P that it takes, or to the injected queue if
// all Ps are taken. An M that leaves the poller needs no successor: the last spinning M wakes
// another one if needed (Chains, Alone in idle.h).
//
// Invariants: I1. Only Ms with a seat (poller_waiters.h) are in the poller with a deadline other
//                 than 0: two at most.
//             I2. While the poller is in use, a P is idle, no M spins and there is no near
//                 sentinel, an M has a seat whenever the idle lock is free, or has just left it and
//                 is about to take the lock.
// Locks:      opening (leaf).
// Threads:    any.
// See:        docs/netpoll.md, test/model/idle.pml
#pragma once

#include <cstdint>
#include <memory>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "netpoll/event_source.h"
#include "netpoll/poll_desc.h"
#include "poll/backend.h"

namespace weft::detail {

struct M;
struct scheduler;

class netpoll {
public:
    static constexpr int64_t stale_ns = 10'000'000;  // N4
    static constexpr int64_t busy_ns = 100'000;      // N2, N3: at most once in this time while there is other work

    netpoll() = default;
    netpoll(const netpoll&) = delete;
    netpoll& operator=(const netpoll&) = delete;

    [[nodiscard]] bool in_use() const noexcept { return backend_.load(relaxed_hint) != nullptr; }

    // Opens the backend if necessary, and then wakes an M to sleep there. nullptr: error says why.
    [[nodiscard]] poll_backend* backend(scheduler& s, int& error) noexcept;

    // The runtime's source of operations on files. The first call makes it by make, which also says
    // which descriptor reports them. nullptr: it cannot be made, now or later. Called by a G of
    // this runtime.
    [[nodiscard]] event_source* files(scheduler& s, std::unique_ptr<event_source> (*make)(int& fd) noexcept) noexcept {
        if (files_asked_.load(acquire)) [[likely]]  // pairs with make_files
            return files_.load(relaxed);            // relaxed: as above
        return make_files(s, make);
    }

    // Called by a user of d, so that its events are delivered. Returns 0 or an errno value.
    [[nodiscard]] int add(scheduler& s, poll_desc& d) noexcept;

    // Fetches events, waiting as poll_backend::wait does. Returns the waiters that they wake,
    // chained; the caller must ready all of them. Requires: in use.
    [[nodiscard]] waiter* poll(int64_t deadline_ns) noexcept;

    // Fetches the pending events, if no thread has polled for age_ns.
    [[nodiscard]] waiter* poll_if_older(int64_t age_ns, int64_t now_ns) noexcept {
        // relaxed: a time
        if (!in_use() || now_ns - polled_ns_.load(relaxed) < age_ns) return nullptr;
        return poll(0);
    }

    // poll() for an M with a seat.
    [[nodiscard]] waiter* sleep_in(int64_t deadline_ns) noexcept;

    // When an M, or the monitor, last polled.
    [[nodiscard]] int64_t polled_ns() const noexcept { return polled_ns_.load(relaxed); }  // relaxed: a time

    // Makes one M that sleeps in it return.
    void interrupt() noexcept { open()->interrupt(); }

    // No thread will poll again: waiters from outside this runtime move to another poller.
    void abandon() noexcept;

    // The runtime has stopped: its Gs never run again, but their memory still exists.
    void close() noexcept;

private:
    [[nodiscard]] poll_backend* open() const noexcept { return backend_.load(acquire); }  // pairs with add

    [[nodiscard]] event_source* make_files(scheduler& s,
                                           std::unique_ptr<event_source> (*make)(int& fd) noexcept) noexcept;
    [[nodiscard]] waiter* collect(uint64_t token) noexcept;

    atomic<poll_backend*> backend_{nullptr};  // written under opening_

    atomic<int64_t> polled_ns_{0};
    spin_lock opening_;
    atomic<bool> files_asked_{false};       // written under opening_
    atomic<event_source*> files_{nullptr};  // published by files_asked_
};

// m holds a P, is on g0, and has fetched chain. Readies the waiters; Gs of its own runtime go to
// the end of its P's queue.
void ready_polled(M* m, waiter* chain, int64_t now_ns) noexcept;

}  // namespace weft::detail
