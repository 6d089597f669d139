// idle.h: which Ms sleep, which search for work, and why no work stays queued while a P is idle.
//
// While work is queued and a P is idle, at least one of these is responsible for it:
//
//   W1  A spinning M: it holds a P, has nothing to run, and steals. It scans before it sleeps.
//   W2  The near sentinel: a sleeping M that wakes by itself within sentinel_far_ns, and scans.
//   W3  The next push: without W1 and W2, idle.wanted is set, and the push wakes an M.
//   W4  The pusher, if it is no G of this runtime: it wakes an M unless one spins.
//   W5  The monitor (sysmon.h), if no thread could be made for an idle P.
//
// An M that has found nothing parks:
//
//   1  It puts its P on the idle list and stops counting as spinning, under the lock.
//   2  It executes a full fence.
//   3  It scans all queues, run_next slots and timers. If it finds something, it takes a P back and
//      steals.
//   4  It goes on the list of idle Ms. plan_park.h decides where it waits, until when, and whether
//      it becomes the sentinel.
//   5  If it does not scan soon while other Ps run, pushes must wake an M (wanted is set). It
//      executes a heavy fence, scans again, also for timers that are due before any alarm, and
//      sleeps.
//
// An M that wakes by itself leaves the list and continues with 3.
//
// Chains. The last spinning M that finds work wakes another M if a P is idle and there is no near
// sentinel. At most half of the busy Ps spin.
//
// Alone. That M skips the wake-up if all of this holds:
//
//   - no other P runs, and no M runs a G without a P (a push in a store buffer may rely on W1)
//   - another M waits in the poller, if the poller is in use
//   - after a full fence: nothing is queued, and no timer is due before the sentinel's alarm
//
// Leaving. A G that waits for the timer it sets wakes no M: its own M parks next and has the alarm,
// or runs a G that was pushed after the other Ms had scanned. That push woke an M, or found one
// that had yet to scan. So each scan, also the monitor's, checks queues first and timers last
// (L1).
//
// Bound. Work that is queued while its P computes starts on an idle P within sentinel_far_ns, plus
// the time that the system takes to wake a thread. An idle process does not wake up (exceptions:
// docs/idle.md).
//
// Ordering:   F1  A push from outside publishes, full fence, reads the counts of idle Ps and
//                 spinning Ms. Pairs with the full fences of step 2 and of Alone.
//             F2  A push by a G publishes, compiler fence, reads wanted. Pairs with the heavy fence
//                 of step 5; without one, that M sleeps at most sentinel_far_ns. The near sentinel
//                 needs none: its next scan sees a push that was in a store buffer.
//             L1  A timer is set, release fence, the next G leaves its queue. Pairs with: the queue
//                 is seen without it, acquire fence, timers are read.
// Invariants: idle_state.h
// See:        docs/idle.md, test/model/idle.pml; park_m.cc for the steps
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

// The number of schedules. If it does not change, nothing has run in between.
[[nodiscard]] uint64_t total_ticks(const scheduler& s) noexcept;

// After a push onto a P's own queue (W3), or when a G that continues has set a timer. Costs one
// load if nothing is wanted.
void wake_wanted(scheduler& s) noexcept;

inline void after_push(scheduler& s, const idle_state& idle) noexcept {
    compiler_fence();  // F2's other half
    if (idle.wanted.load(relaxed) != 0) [[unlikely]]
        wake_wanted(s);  // relaxed: F2
}

// Instead of after_push, for a timer of a G that leaves its M now, or of g0.
inline void leaves_timer() noexcept { std::atomic_thread_fence(std::memory_order_release); }  // L1

// W4, after a push onto the global queue. Prefers P number preferred.
void wake_for_outside(scheduler& s, uint32_t preferred) noexcept;

// m, which was spinning, has found work (Chains, Alone).
void stop_spinning(scheduler& s, M* m) noexcept;

// Returns whether m may steal; it then counts as spinning.
[[nodiscard]] bool start_spinning(scheduler& s, M* m) noexcept;

// m has found nothing: sleeps until there is something. Returns with a P (and perhaps a G in
// picked), or without one if the scheduler is stopping or m must end. True: the P's clock has just
// been set.
bool sleep_until_work(scheduler& s, M* m) noexcept;

// From step 2 on, for an m that has given its P away.
bool sleep_without_p(scheduler& s, M* m) noexcept;

// W5, by the monitor: tries again to make a thread. lacks_m says whether it failed.
void try_missing_m(scheduler& s) noexcept;

// Wakes an M for an idle P if wanted says so.
void wake_if_wanted(scheduler& s) noexcept;

// The poller is in use from now on: wakes an idle M to sleep there.
void wake_to_look(scheduler& s) noexcept;

// Wakes m, wherever it sleeps. Requires: m is on no list, or was given a request under the lock.
void wake_m(M* m) noexcept;

// Sets stopping, and wakes every idle M.
void wake_all_to_stop(scheduler& s) noexcept;

// Requires: no other thread can take p: it is idle and the lock is held, or it is being handed
// over.
void acquire_p(M* m, P* p) noexcept;

// ---- Parts. Those with _locked require the idle lock.

// Requires: p has no owner and no work.
void put_idle_p_locked(scheduler& s, P* p) noexcept;

// Takes P number index off the idle list; nullptr if it is not there.
[[nodiscard]] P* take_this_idle_p_locked(scheduler& s, uint32_t index) noexcept;

// Takes an idle P, the one with number preferred if it is idle; nullptr without one.
[[nodiscard]] P* take_idle_p_locked(scheduler& s, uint32_t preferred) noexcept;

// Returns when an idle M must wake for a timer with this deadline.
[[nodiscard]] int64_t with_slack(const scheduler& s, int64_t deadline_ns) noexcept;

// Returns when an idle M must wake for the timers of all Ps. Scan queues before (L1).
[[nodiscard]] int64_t earliest_alarm(const scheduler& s) noexcept;

// Whether anything is queued, or a timer is due by now_ns. Called after a fence.
[[nodiscard]] bool anything_to_do(scheduler& s, int64_t now_ns) noexcept;

// Whether nothing runs and no timer is set, while weft::main runs and deadlocks are searched for.
[[nodiscard]] bool all_sleep_locked(const scheduler& s) noexcept;

// If all sleep, makes the monitor watch for a deadlock. True: the caller must call
// sysmon.watch_deadlock() without the lock. Called by an M that parks, or ends without a P.
[[nodiscard]] bool starts_deadlock_watch_locked(scheduler& s) noexcept;

// Takes an M that runs any G, or returns nullptr: the most recently parked one; else one in the
// poller; the sentinel last.
[[nodiscard]] M* take_idle_m_locked(scheduler& s) noexcept;

void put_idle_m_locked(scheduler& s, M* m) noexcept;
void remove_idle_m_locked(scheduler& s, M* m) noexcept;

// Takes m's P from it. nullptr: a thief holds it (p.h, I3), so free the lock, call wait_for_thief,
// and try again.
[[nodiscard]] P* try_release_p_locked(M* m) noexcept;
void wait_for_thief(const P& p) noexcept;

// The same, but waits for the thief. Frees the lock meanwhile.
[[nodiscard]] P* release_p_locked(M* m, idle_guard& held) noexcept;

// Adds change to the count of I1.
void count_spinning_locked(idle_state& idle, int change) noexcept;

}  // namespace weft::detail
