// idle.h: which Ms sleep, which look for work, and why no work stays queued while a P is idle.
//
// The problem. Work may be queued on any P at any moment while other Ps are idle and their Ms sleep.
// To wake a sleeping core costs the waker several microseconds, and the core arrives tens of
// microseconds later: hundreds of times the price of queueing a G. To wake one at each push would
// cost more than the work; never to wake one would waste the core. And skipping a wake-up is safe
// only if another mechanism is guaranteed to find the work: the M that pushed may compute for ever.
//
// The protocol. While work is queued and a P is idle, at least one of these is responsible for it:
//
//   W1  A spinning M. It holds a P, has nothing to run, and steals. It scans everything once more
//       before it sleeps.
//   W2  The near sentinel: one sleeping M that wakes by itself within sentinel_far_ns, and scans.
//   W3  The next push. Without a spinning M and a near sentinel, idle.wanted is set; the next push
//       reads it and wakes an M.
//   W4  The pusher itself, if it is no G of this runtime (plain threads, other runtimes): it always
//       wakes an M unless one spins.
//   W5  The monitor (sysmon.h), if an idle P lacks an M because no thread could be made.
//
// An M that has found nothing parks:
//
//   1  It puts its P on the idle list and stops counting as spinning, under the lock.
//   2  It executes a full fence.
//   3  It scans the global queue, all rings and run_next slots, and all timers. If it finds
//      something, it takes a P back and steals.
//   4  It goes on the list of idle Ms. plan_park.h decides where it waits, until when, and whether it
//      becomes the sentinel. The sentinel's alarm is also the earliest timer of any P; a P that runs
//      looks at its own timers.
//   5  If it does not scan soon, pushes must wake an M from now on (wanted is set). Heavy fence; one
//      more scan, also for timers that are due before any alarm; then it sleeps.
//
// An M that wakes by itself leaves the list, and continues with 3. If its scans see no schedule of
// the running Ps, these compute, pushes have stopped, and it backs off (sentinel_backoff.h).
//
// Fences. A push publishes the G, executes a compiler fence, and reads wanted. It has no CPU fence,
// because the hot path would pay for it. The heavy fence of step 5 makes every running thread of the
// process execute one. So the scan that follows sees the push, or the push reads wanted as set. A push
// that was still in a store buffer during step 3 is seen by the near sentinel's next scan. Pushes from
// outside are rare and have a full fence of their own: publish, fence, read the counts of idle Ps and
// spinning Ms. It pairs with step 2. Without a heavy fence the sentinel sleeps at most sentinel_far_ns.
//
// Chains. The last spinning M that finds work wakes another M if a P is still idle and there is no
// near sentinel. So a burst starts all Ps, one wake-up after the other. At most half of the busy Ps
// spin.
//
// Alone. Where Gs come one at a time, from a timer or the poller, each would cause such a wake-up, of
// an M that finds nothing. So the last spinning M skips it if all of this holds:
//
//   - no other P runs, and no M runs a G without a P
//   - another M waits in the poller, if the poller is in use
//   - after a full fence: nothing is queued, and no timer is due before the sentinel's alarm
//
// Nothing is lost. Its own pushes read wanted. Pushes from outside see that no M spins, or are seen by
// that scan (F1). Timers are the sentinel's duty, and events the other M's. While another P runs this
// would be wrong: its pushes have no fence, and one in a store buffer relies on the spinning M.
//
// Timers that a G sets before it waits. Such a G wakes no M for its timer (leaves_timer instead of
// after_push), because most of the time its M has nothing else to do, parks, and has the alarm. If the
// M runs another G instead, perhaps no alarm covers the timer. Suppose that all sleeping Ms scanned
// before the timer was set. None of them found that other G in a queue, so it was pushed after their
// scans. Its push woke an M, or found one that had not yet scanned. The argument needs the scan to look
// at queues first and at timers last (L1). The monitor relies on it, too.
//
// Surplus Ms. Blocking calls and pinned Gs leave more Ms than Ps. A surplus M sleeps at most
// scheduler.thread_idle_ns. If no work has come for that long and it is still surplus, it ends. If it
// had a duty (sentinel, poller), it wakes another M, which takes it over. The list is last in, first
// out, so that the Ms at its bottom end.
//
// Threads that cannot be made. That is no error of the push. The P goes back to the idle list, lacks_m
// is set until an M parks, and no push tries again meanwhile. The monitor does, while anything is
// queued.
//
// Bound. Work that is queued while its P computes starts on an idle P within sentinel_far_ns, plus the
// time the system takes to wake a thread. An idle process does not wake up, except that the monitor
// searches for a deadlock a few times (deadlock_watch.h).
//
// Rejected. Waking an M at each push while none spins (Go): 6 us for each of the Gs that hand work to
// and fro on one P. A condition variable around all queues: a lock on the hot path. A thread that polls
// the queues: it wakes idle processes. Rules for special loads, such as an M that waits awake for the
// end of a blocking call: docs/idle.md, "What was removed".
//
// Ordering:   F1 (step 2, outside push, Alone): full fences. F2 (step 5): heavy fence, pairs with the
//             compiler fence of a push. L1: a timer is set, release fence, the next G leaves its queue;
//             pairs with: the queue is seen without it, acquire fence, timers are looked at.
// Invariants: idle_state.h
// See:        docs/idle.md, test/model/idle.pml; park_m.cc for steps 1 to 5
#pragma once

#include <cstdint>

#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "idle/idle_state.h"

namespace weft::detail {

struct M;
struct P;
struct G;
struct scheduler;

// The number of schedules of all Ps: if it does not change, nothing has run in between.
[[nodiscard]] uint64_t total_ticks(const scheduler& s) noexcept;

// After a push onto a P's own queue (W3), or when a G that continues has set a timer. Costs one load
// if no M and no monitor is wanted.
void wake_wanted(scheduler& s) noexcept;

inline void after_push(scheduler& s, const idle_state& idle) noexcept {
    compiler_fence();  // F2's other half
    if (idle.wanted.load(relaxed) != 0) [[unlikely]]
        wake_wanted(s);  // relaxed: F2
}

// After a timer was added to the P's queue by a G that leaves its M now, or by g0: instead of
// after_push.
inline void leaves_timer() noexcept { std::atomic_thread_fence(std::memory_order_release); }  // L1

// After a push onto the global queue from outside (W4). Prefers P number preferred if it is idle.
void wake_for_outside(scheduler& s, uint32_t preferred) noexcept;

// m, which was spinning, has found work: wakes another M if needed (Chains, Alone).
void stop_spinning(scheduler& s, M* m) noexcept;

// Returns whether m may steal; it then counts as spinning.
[[nodiscard]] bool start_spinning(scheduler& s, M* m) noexcept;

// m has found nothing: gives up its P and sleeps until there is something. Returns with a P (and
// perhaps a G in picked), or without one if the scheduler is stopping or m is to end. True: the P's
// clock has just been set.
bool sleep_until_work(scheduler& s, M* m) noexcept;

// The same for an m that has already given its P away: from step 2 on.
bool sleep_without_p(scheduler& s, M* m) noexcept;

// An idle P lacks an M: tries to make a thread again. Called by the monitor; lacks_m says whether it
// failed.
void try_missing_m(scheduler& s) noexcept;

// Wakes an M for an idle P if wanted says so.
void wake_if_wanted(scheduler& s) noexcept;

// The poller is in use from now on: wakes an idle M, so that it goes to sleep there.
void wake_to_look(scheduler& s) noexcept;

// Wakes m, wherever it sleeps. Requires: m is on no list, or was given a request under the lock.
void wake_m(M* m) noexcept;

// Wakes every idle M without a P, because the scheduler is stopping.
void wake_all_to_stop(scheduler& s) noexcept;

// m takes p. Requires: no other thread can take it (it is idle and the lock is held, or it is being
// handed over).
void acquire_p(M* m, P* p) noexcept;

// ---- Parts. Those with _locked require the idle lock.

// Puts p, which has no owner and no work, on the idle list.
void put_idle_p_locked(scheduler& s, P* p) noexcept;

// Takes P number index off the idle list. Returns nullptr if it is not there.
[[nodiscard]] P* take_this_idle_p_locked(scheduler& s, uint32_t index) noexcept;

// Takes an idle P off the list: P number preferred if it is idle. Returns nullptr without an idle P.
[[nodiscard]] P* take_idle_p_locked(scheduler& s, uint32_t preferred) noexcept;

// Returns the earliest deadline of any P's timers. Scan queues before (L1).
[[nodiscard]] int64_t earliest_deadline(const scheduler& s) noexcept;

// Returns whether anything is queued anywhere, or a timer is due by now_ns. With or without the lock,
// after a fence.
[[nodiscard]] bool anything_to_do(scheduler& s, int64_t now_ns) noexcept;

// Returns whether, while weft::main runs and deadlocks are searched for, all Ps are idle, no M runs a G
// without a P, and no timer is set.
[[nodiscard]] bool all_sleep_locked(const scheduler& s) noexcept;

// If all sleep and the monitor does not watch for a deadlock, asks it to. True: it is far; call
// sysmon.watch_deadlock() without the lock. Called by an M that parks, or ends without a P.
[[nodiscard]] bool starts_deadlock_watch_locked(scheduler& s) noexcept;

// Takes an M that runs any G off its list; returns nullptr without one. Preference: the most recently
// parked one; an M in the poller only if no other is idle but the sentinel; the sentinel last.
[[nodiscard]] M* take_idle_m_locked(scheduler& s) noexcept;

void put_idle_m_locked(scheduler& s, M* m) noexcept;
void remove_idle_m_locked(scheduler& s, M* m) noexcept;

// Takes m's P from it, to be handed over or put on the list. nullptr: a thief holds it (p.h, I3), which
// needs no lock and is soon done; the caller frees the lock, calls wait_for_thief and tries again.
[[nodiscard]] P* try_release_p_locked(M* m) noexcept;
void wait_for_thief(const P& p) noexcept;

// Takes m's P from it. While a thief holds the P, frees the lock.
[[nodiscard]] P* release_p_locked(M* m, idle_guard& held) noexcept;

// Counts or discounts an M that looks for work.
void count_spinning_locked(idle_state& idle, int change) noexcept;

}  // namespace weft::detail
