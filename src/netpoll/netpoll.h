// netpoll.h: who waits for the outside world, and who for those who do: the poller of one runtime.
//
// The problem. Green threads wait for files that become readable or writable (poll_desc.h). Somebody has to fetch the events from the system:
// at once when an M has nothing else to do, soon when all are busy, at last when all of them compute; without a thread of its own that would
// have to wake an M for each event, without a wake-up of an idle process, and without two threads that wake for one event.
//
// Who polls. At any time that the poller is in use, at least one of these is responsible:
//
//   N1  an idle M that sleeps in the poller instead of on its note; who lies down while nobody does is the one, unless it is the near
//       sentinel (below). Also who waits for its pinned G: nobody else may be there, and what it fetches for others it hands over, as it
//       does with timers
//   N2  an M that has run dry looks, without waiting, before it steals or sleeps; and every 61st schedule on the way through g0 does, if
//       the ring has room for what may come: it would spill to the global queue, which has its turn every 61st schedule, and of a
//       thousand busy connections some would wait a hundred times as long as others. An M
//       beside which no P runs goes to sleep in the poller next (N1), and then its look is a system call in vain, if there is nothing. So
//       it leaves it out once a look has found nothing, until it has come back from the poller at once three times in a row (looks_pay)
//   N3  the near sentinel (idle.h): it sleeps on its note, and looks, without waiting, when it wakes. While another P runs Gs and
//       passes through g0, that one fetches the events, and an M that slept in the poller beside it would be woken for each of them, to find
//       that it has little to do. When the sentinel goes far, because the Ps that run compute, it sleeps in the poller
//   N4  the monitor (sysmon.h), while no P is idle: if nobody has looked for stale_ns, it does. It is near as long as that may be
//   N5  a second idle M, beside the one of N1 (poller_waiters.h), which goes there while no P runs: it hears of what comes while the first one
//       runs what it was woken for
//
// N1 is what makes an idle server cost nothing, and an event reach its green thread in one wake-up, that of the thread which will run it: the
// M takes an idle P when it comes back, and what it has fetched goes into that P's queue. If all are taken meanwhile, it goes to
// the arrivals (injected.h).
//
// Who leaves the poller leaves it to the second one, if there is one, or to nobody in particular. But it then spins, or is about to run a G, and
// the idle protocol does the rest: while a P is idle and nobody is the near sentinel, an M that finds work while it was the last to look wakes
// another one (chains), unless it is alone and the second one is there; that one lies down as the near sentinel, and stays that if such
// requests follow each other (idle.h).
//
// Waking an M that sleeps in the poller costs a write and a read more than waking one on its note; so others are taken first, but for the near
// sentinel, which looks soon by itself.
//
// Being in use. The backend is opened when the first descriptor is added. From then on the runtime has a poller until it stops. Who opens it
// wakes an M, as the others went to sleep when there was nothing to poll.
//
// Rejected. A thread that polls (each event wakes two threads, one after the other).
//
// Invariants: I1. Only Ms with a seat (poller_waiters.h) are in the poller with a deadline that is not 0: two at most.
//             I2. While the poller is in use, a P is idle, nobody spins, and there is no near sentinel: an M has a seat, whenever the idle lock is
//                 free, or has just left it and is about to take the lock.
// Locks:      opening (leaf).
// Who:        any thread.
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
    static constexpr int64_t busy_ns = 100'000;      // N2, N3: not more often than that while there is other work

    netpoll() = default;
    netpoll(const netpoll&) = delete;
    netpoll& operator=(const netpoll&) = delete;

    [[nodiscard]] bool in_use() const noexcept { return backend_.load(relaxed) != nullptr; }  // relaxed: a look

    // The backend, opened if need be. nullptr: error says why.
    [[nodiscard]] poll_backend* backend(scheduler& s, int& error) noexcept;

    // The source of operations on files, which belongs to the runtime; made by make when it is first asked for, which says which descriptor
    // tells of them. nullptr: there is none, nor will there be one. By a G of this runtime.
    [[nodiscard]] event_source* files(scheduler& s, std::unique_ptr<event_source> (*make)(int& fd) noexcept) noexcept {
        if (files_asked_.load(acquire)) [[likely]]  // pairs with make_files
            return files_.load(relaxed);            // relaxed: as above
        return make_files(s, make);
    }

    // Sees to it that events of d come. By a user of d. Returns 0 or an errno value.
    [[nodiscard]] int add(scheduler& s, poll_desc& d) noexcept;

    // Fetches events, waiting for the first one as poll_backend::wait. Returns who is woken by them, chained; all of them are to be made
    // ready. Requires: in use.
    [[nodiscard]] waiter* poll(int64_t deadline_ns) noexcept;

    // Fetches what there is, if nobody has for that long.
    [[nodiscard]] waiter* poll_if_older(int64_t age_ns, int64_t now_ns) noexcept {
        // relaxed: a time
        if (!in_use() || now_ns - polled_ns_.load(relaxed) < age_ns) return nullptr;
        return poll(0);
    }

    // As poll(), for an M with a seat in the poller.
    [[nodiscard]] waiter* sleep_in(int64_t deadline_ns) noexcept;

    // When an M, or the monitor, last polled.
    [[nodiscard]] int64_t polled_ns() const noexcept { return polled_ns_.load(relaxed); }  // relaxed: a time

    // Makes the M that sleeps in it come back.
    void interrupt() noexcept { open()->interrupt(); }

    // Nobody will poll any more: whoever waits and is not of this runtime goes to another poller.
    void abandon() noexcept;

    // The runtime has stopped: its Gs will not run any more, but their memory is there.
    void close() noexcept;

private:
    [[nodiscard]] poll_backend* open() const noexcept { return backend_.load(acquire); }  // pairs with add

    [[nodiscard]] event_source* make_files(scheduler& s,
                                           std::unique_ptr<event_source> (*make)(int& fd) noexcept) noexcept;
    [[nodiscard]] waiter* collect(uint64_t token) noexcept;

    atomic<poll_backend*> backend_{nullptr};  // by opening_

    atomic<int64_t> polled_ns_{0};
    spin_lock opening_;
    atomic<bool> files_asked_{false};       // written under opening_
    atomic<event_source*> files_{nullptr};  // published by files_asked_
};

// m holds a P, is on g0, and has fetched events: those of its own runtime go to the end of its P's queue.
void ready_polled(M* m, waiter* chain, int64_t now_ns) noexcept;

}  // namespace weft::detail
