// netpoll.h: the poller of one runtime: which thread waits for events of files, and when.
//
// The problem. Green threads wait for files that become readable or writable (poll_desc.h). A
// thread must fetch the events from the kernel: at once while an M has nothing else to do, soon
// while all Ms are busy, and at last while all of them compute. It must cost no thread that would
// have to wake an M for each event, no wake-up of an idle process, and never two threads that wake
// for one event.
//
// Which thread polls. While the poller is in use, at least one of these is responsible:
//
//   N1  An idle M that sleeps in the poller instead of on its note. An M that goes idle while a P
//       is idle and no M is there enters it, unless there is a near sentinel (N3). So does the M of
//       a pinned G, because it may be the only one. It hands over what it fetches for others, as it
//       does with timers.
//   N2  An M that has found nothing in its queues: unless an M is in the poller, it polls without
//       waiting, before it steals or sleeps. Every 61st schedule that passes through g0 polls too,
//       at most once in busy_ns, if the ring has room for a whole batch. Otherwise it would
//       overflow to the global queue, which has its turn every 61st schedule. Of a thousand busy
//       connections some would then wait a hundred times as long as others.
//   N3  The near sentinel (idle.h). It sleeps on its note, and polls without waiting when it wakes.
//       While another P runs Gs and passes through g0, that one fetches the events. An M in the
//       poller beside it would wake for each of them, and would find little to do. When the
//       sentinel backs off, because the running Ps compute, it sleeps in the poller.
//   N4  The monitor (sysmon.h), while no P is idle: it polls if no thread has for stale_ns. It
//       stays near as long as that may be needed.
//   N5  A second idle M beside the one of N1 (poller_waiters.h), which enters while no P runs. It
//       receives the events that come while the first one runs what it was woken for.
//
// With N1 an idle server costs nothing, and an event reaches its green thread in one wake-up, that
// of the thread which will run it. The M takes an idle P when it returns, and what it has fetched
// goes into that P's queue. If all Ps are taken meanwhile, the Gs go to the injected queue
// (injected.h).
//
// An M that leaves the poller leaves it to the second one, if there is one, and otherwise to no M
// in particular. But it then spins, or is about to run a G, and the idle protocol does the rest.
// While a P is idle and there is no near sentinel, the last spinning M that finds work wakes
// another M (Chains). It need not if it is alone and the second M is in the poller (Alone).
//
// Waking an M that sleeps in the poller costs a write and a read more than waking one on its note.
// So other idle Ms are woken first. Only the sentinel comes after them, because it wakes soon by
// itself.
//
// Being in use. The backend is opened when the first descriptor is added. From then on the runtime
// has a poller until it stops. The thread that opens it wakes an M, because the others went to
// sleep when there was nothing to poll.
//
// Rejected. A thread that polls: each event wakes two threads, one after the other. Leaving out the
// poll of N2 where it rarely finds anything: docs/idle.md, "What was removed".
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

    [[nodiscard]] bool in_use() const noexcept { return backend_.load(relaxed) != nullptr; }  // relaxed: a hint

    // Returns the backend, opened if necessary. nullptr: error says why.
    [[nodiscard]] poll_backend* backend(scheduler& s, int& error) noexcept;

    // Returns the source of operations on files, which belongs to the runtime. The first call makes
    // it by make, which also says which descriptor reports them. nullptr: it cannot be made, now or
    // later. Called by a G of this runtime.
    [[nodiscard]] event_source* files(scheduler& s, std::unique_ptr<event_source> (*make)(int& fd) noexcept) noexcept {
        if (files_asked_.load(acquire)) [[likely]]  // pairs with make_files
            return files_.load(relaxed);            // relaxed: as above
        return make_files(s, make);
    }

    // Makes sure that events of d are delivered. Called by a user of d. Returns 0 or an errno
    // value.
    [[nodiscard]] int add(scheduler& s, poll_desc& d) noexcept;

    // Fetches events, waiting for the first one as poll_backend::wait does. Returns the waiters
    // that they wake, chained; the caller must ready all of them. Requires: in use.
    [[nodiscard]] waiter* poll(int64_t deadline_ns) noexcept;

    // Fetches the pending events, if no thread has polled for age_ns.
    [[nodiscard]] waiter* poll_if_older(int64_t age_ns, int64_t now_ns) noexcept {
        // relaxed: a time
        if (!in_use() || now_ns - polled_ns_.load(relaxed) < age_ns) return nullptr;
        return poll(0);
    }

    // The same as poll(), for an M with a seat in the poller.
    [[nodiscard]] waiter* sleep_in(int64_t deadline_ns) noexcept;

    // When an M, or the monitor, last polled.
    [[nodiscard]] int64_t polled_ns() const noexcept { return polled_ns_.load(relaxed); }  // relaxed: a time

    // Makes one M that sleeps in it return.
    void interrupt() noexcept { open()->interrupt(); }

    // No thread will poll again: waiters that are not of this runtime move to another poller.
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

// m holds a P, is on g0, and has fetched chain. Waiters of its own runtime go to the end of its P's
// queue; others are made ready.
void ready_polled(M* m, waiter* chain, int64_t now_ns) noexcept;

}  // namespace weft::detail
