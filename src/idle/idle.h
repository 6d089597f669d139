// idle.h: who sleeps, who looks for work, and why no work is left lying while a P is idle.
//
// The problem. Work appears on a P's queue at any moment; other Ps may be idle, their Ms asleep. Waking a sleeping core costs
// the waker several microseconds and arrives tens of microseconds later, hundreds of times the price of queueing a G.
// Waking at each push would cost more than the work; not waking loses a core. And a decision not to wake must not be the last
// word, because the M that pushed may now compute for ever.
//
// Rejected. Waking on every push while nobody spins (Go): 6 µs on the hot path of any program whose Gs hand work to and fro on one
// P. A condition variable around all queues: a lock on the hot path. A monitor thread that polls: wakes an idle process.
//
// The protocol. At any time work is queued while a P is idle, at least one of these is responsible for finding it:
//
//   W1  a spinning M: it holds a P, has nothing, and is stealing. Before it sleeps it looks at everything once more.
//   W2  the near sentinel: one sleeping M that wakes by itself within sentinel_far_ns and looks.
//   W3  the next push: when there is neither, idle.wanted is set, and whoever pushes next wakes an M first.
//   W4  the pusher itself, for work from outside (plain threads, other runtimes): it always wakes one unless somebody spins.
//   W5  the monitor (sysmon.h), when an idle P lacks an M because no thread was to be had.
//
// An M that has found nothing goes to sleep so:
//
//   1  put the P on the idle list; stop counting as a spinner                       (under idle.lock)
//   2  full fence
//   3  look at the global queue, all rings and run_next slots, all timers; found: take a P back and steal
//   4  go on the list of idle Ms; who is not the near sentinel may sleep in the poller instead of on its note (poller_waiters.h). While
//      another P runs, and one is idle, and nobody is the sentinel, be the sentinel: sleep sentinel_near_ns at
//      most, then look again. Twice the time after each look that saw the running Ps schedule but found nothing, up to sentinel_far_ns.
//   5  when no running P has scheduled anything for sentinel_rounds looks, they compute, and pushes have stopped. Set wanted (W3),
//      heavy fence, look once more, also for timers that are due before any alarm, sleep without end (or until the next timer).
//
// The fences. A push is: publish the G, compiler fence, read wanted. It has no fence of its own: the price of a push is on the hot
// path, that of sleeping is not. Step 5's heavy fence makes every running thread of the process pass one, so either the push is
// seen by the look that follows, or the push reads wanted as set. Between the two, near sentinels make up for a push that was still in
// a store buffer during step 3: it will be visible at the next look. Pushes from outside are rare and fence themselves: publish, full
// fence, read the idle and spinning counts; it pairs with step 2. Where there is no heavy fence the sentinel never goes
// further than sentinel_far_ns while a P runs.
//
// Chains. An M that found work while it was the last spinner wakes another one if a P is still idle and nobody is the sentinel: so a
// burst brings up all Ps, one wake at a time. At most half of the busy Ps spin.
//
// Alone. Where Gs come one at a time, from a timer or the poller, that would be a wake-up for each of them, of an M that finds nothing to do. So
// the last spinner to find work leaves it out while no other P runs, if it then sees, after a full fence, that nothing is queued; that no
// deadline comes before the sentinel's alarm; and that another M sleeps in the poller, if there is one. All that can still come is
// seen to: its own pushes read wanted, those from outside see that nobody spins or have been seen by that look (F1), timers are the sentinel's,
// events the other M's. While another P runs this would not do: its pushes have no fence, and one in a store buffer relies on the spinner.
//
// Staying. Where requests come from the poller so soon after each other that some overlap, the Ps are all idle now and then, and each that
// comes while another one runs would wake an M that is soon done, and when it lies down nobody runs any more, and it goes far. If an M
// has gone far less than sentinel_stays_ns ago, that was too early: who lies down next stays near while somebody sleeps in the poller, with all
// looks that are due, until sentinel_rounds more of them have come than Gs were scheduled meanwhile. So such requests share its looks. Not who was
// alone: it has woken nobody, and sleeps well in the poller. While no P runs the one that stays looks for such requests only, and is woken rather
// than who sleeps in the poller.
//
// Timers. The sentinel's alarm is also the earliest deadline of any P; an M that goes to sleep with an earlier one takes the role
// over. Of two in the poller the first is the sentinel, if its alarm is early enough: the second is woken before it. A P that is running looks at
// its own timers. Setting one counts as a push, if the G that does so goes on.
//
// Leaving. A G that waits with a deadline leaves its M as soon as the timer is set, and wakes nobody for it: most of the time the M has
// nothing else to do, lies down, and the alarm is its own. If it runs another G, that one was queued when the timer was set, or came later.
// Whoever sleeps without that alarm has looked before: at all queues first, and at the timers last, which is the rule here. Had the G
// been queued at that look, it would have been found; so it was pushed after it, and that push has woken somebody, or found one awake,
// who has not looked since. The same holds for the monitor. With the timers looked at first, the timer may be set, and the next G taken
// out of its queue, between the two looks (the mutants timers_first of both models). The same goes for g0, which sets a timer with a period
// anew when it fires, and then runs the next G.
//
// No P idle. Then there is nothing to look for: an M that lies down, as one too many, sleeps until it is told, without an interval or an alarm.
// Whoever gives a P up lies down after that, and is the sentinel.
//
// Bound. Work queued while its P computes starts on an idle P within sentinel_near_ns if the process was doing something else before (unless a
// sentinel stays), and within sentinel_far_ns always (plus the time the system takes to wake a thread). An idle process does not wake up (but
// deadlock_looks times).
//
// Standing by. A declared call that is long is a hand-over, and the M that gets the P sleeps: nobody runs anything until the system has woken it,
// and the giver pays for that. Where calls follow each other, the M that came back from the one before has just lain down, as its P was
// in use. So such an M stays awake for stand_by_ns, about what a wake-up takes, before it sleeps: with the next call it has the P at
// once. One at a time, and only where there is a CPU that neither a P nor a hog uses.
//
// Deadlocks. Where everything sleeps, one of those that do has an alarm for the look for a deadlock (debug/deadlock.cc). An alarm costs 1 µs of the
// system's time, which is much where it is set for each request of a server. So as long as the monitor is near, or if many were set for nothing,
// nobody sets one. The monitor looks each deadlock_watch_ns, also when it is far, as long as anything was scheduled meanwhile. If
// not, and everything sleeps, it wakes an M, which finds nothing, and lies down with the alarm.
//
// Too many. Blocked calls and pins make more Ms than Ps. An M that lies down as one too many sleeps no longer than scheduler.thread_idle_ns;
// if it has then done nothing for so long, and still is one too many, it ends. Those at the top of the list are used, those at its bottom
// end. If it was the sentinel it wakes another one, to look in its place. So an idle process ends up with as many Ms as Ps, asleep
// without end.
//
// A thread that cannot be created while waking is no error of the push. The P goes back to the list, and lacks_m is set, until an M that runs
// any G lies down: no push tries to make a thread meanwhile, as the next one will hardly have more luck; the monitor, which is called,
// asks again every no_thread_ns as long as anything is queued. Waiting for the next pushes would not do: whoever pushed may now compute
// for ever, and a push that saw the M that could not be made counted as a spinner has relied on it, too.
//
// Invariants: I1. spinning counts the Ms with spinning set; they hold a P.
//             I2. wanted::an_m == (an idle P exists, nobody spins, no near sentinel), and wanted::monitor == monitor_far, whenever the
//                 lock is free.
//             I3. An M on the idle list holds no P; whoever removes it hands it one and wakes it, or is itself (time-out).
//             I4. While lacks_deadlock_looker_locked(): an M has looked as often as it is to; or the monitor will look within
//                 deadlock_watch_ns; or an M is on its way to lie down.
// Ordering:   F1 (step 2, outside push) full fences; F2 (step 5) heavy fence, pairs with the compiler fence of a push. L1: a timer is set, release
//             fence, the next G is taken out of its queue; pairs with: the queue is seen without it, acquire fence, timers are looked at.
// Locks:      lock (leaf).
// See:        docs/idle.md, test/model/idle.pml; park_m.cc for steps 1 to 5
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "idle/poller_waiters.h"
#include "sched/procs.h"

namespace weft::detail {

struct M;
struct P;
struct G;
struct scheduler;

inline constexpr int64_t sentinel_stays_ns = 200'000;

// When all lie down, and nothing will end that but somebody from outside: when one looks whether there can be anybody. Some times in the first
// two seconds, then seldom, and after so many looks, each a wake-up, the idle process is quiet.
inline constexpr int64_t deadlock_look_first_ns = 10'000'000;  // then four times as long each time, for so many looks
inline constexpr int64_t deadlock_look_others_ns = 1'500'000'000;  // once somebody outside could: one look then
inline constexpr int64_t deadlock_look_later_ns = 20'000'000'000;  // all others
inline constexpr int deadlock_early_looks = 4;
inline constexpr int deadlock_looks = 6;
// So many alarms for that within so long, each for nothing, are left to the monitor, which looks after so long whether anything goes on.
inline constexpr int deadlock_alarms_many = 64;
inline constexpr int64_t deadlock_watch_ns = 40'000'000;

// How long an M that comes back from a call without a P waits awake: about as long as it takes to be woken.
inline constexpr int64_t stand_by_ns = 30'000;

// Bits of idle_state::wanted.
namespace wanted {
inline constexpr uint32_t an_m = 1;     // W3
inline constexpr uint32_t monitor = 2;  // the monitor is far: see sysmon.h
}  // namespace wanted

struct idle_state {
    // Atomic, written under lock, read by pushes: see W3.
    alignas(cache_line) atomic<uint32_t> wanted{0};

    alignas(cache_line) spin_lock lock;
    // Guarded by lock; the atomic ones are read without it as hints, or after a full fence.
    uint64_t idle_ps[procs_max / 64] = {};  // one bit per P
    atomic<uint32_t> idle_p_count{0};
    atomic<uint32_t> spinning{0};
    M* idle_ms = nullptr;              // last in, first out: the warmest caches first
    M* pinned_ms = nullptr;            // those whose pinned G is elsewhere: for hand-overs, see pin.h
    atomic<uint32_t> idle_m_count{0};  // on both lists
    uint32_t unavailable = 0;          // Ms that run no G for now, whatever is queued: on pinned_ms, or retired
    uint32_t coming = 0;               // Ms that were made to have one idle, and have not lain down yet
    uint32_t ms_without_p = 0;         // Ms that run a G without a P: see retake.h
    uint32_t hogs = 0;                 // of them those that have lost it because they computed: M::is_hog
    M* retired_main = nullptr;         // the thread of weft::main, if it has retired: it waits for the end
    M* sentinel = nullptr;
    atomic<bool> one_stands_by{false};
    poller_waiters poller;
    bool sentinel_near = false;
    int64_t went_far_ns = 0;  // when an M last lay down neither as the near sentinel nor as the first in the poller
    int64_t sentinel_until_ns = never;  // never without a sentinel
    atomic<bool> lacks_m{false};  // W5: there was no thread for an idle P, and no M that runs any G has lain down since
    bool monitor_far = false;
    bool monitor_polls = false;               // it was called because nobody else does
    atomic<int64_t> monitor_until_ns{never};  // while it is far: until when it sleeps
    M* deadlock_looker = nullptr;             // looks for a deadlock if nobody has woken it by then
    bool deadlock_watched = false;            // nobody sets an alarm for that: the monitor sees to it, later
    bool deadlock_owed = false;               // one has not, or has ended meanwhile: who lies down next begins anew
    int deadlock_alarms = 0;                  // set since …
    int64_t deadlock_alarms_since_ns = 0;
    bool others_seen = false;  // when somebody last looked, others could have ended it
};

// Schedules of all Ps, to see whether anything moves.
[[nodiscard]] uint64_t total_ticks(const scheduler& s) noexcept;

// Whether all sleep, with no alarm, and nobody has one to look for a deadlock, as somebody should. Requires idle.lock.
[[nodiscard]] bool lacks_deadlock_looker_locked(const scheduler& s) noexcept;

// After a push onto a P's own queue (W3), or the setting of a timer by a G that goes on. Costs a load when there is nothing to do.
void wake_wanted(scheduler& s) noexcept;

inline void after_push(scheduler& s, const idle_state& idle) noexcept {
    compiler_fence();  // F2's other half
    if (idle.wanted.load(relaxed) != 0) [[unlikely]]
        wake_wanted(s);  // relaxed: F2
}

// After a timer was added to the own P's queue by a G that leaves its M now, or by g0: instead of after_push (Leaving).
inline void leaves_timer() noexcept { std::atomic_thread_fence(std::memory_order_release); }  // L1

// After a push onto the global queue from outside (W4). Prefers P number preferred if it is idle.
void wake_for_outside(scheduler& s, uint32_t preferred) noexcept;

// m, which was spinning, has found work: wakes another M, if need be.
void stop_spinning(scheduler& s, M* m) noexcept;

// Whether m may start stealing; counts it as spinning then.
[[nodiscard]] bool start_spinning(scheduler& s, M* m) noexcept;

// m has found nothing: gives its P up and sleeps until there is something. Returns with a P (and perhaps a G in picked), or without one
// if the scheduler is stopping. True: the P's clock has just been set.
bool sleep_until_work(scheduler& s, M* m) noexcept;

// Whether m, which has no P, may wait awake for a while: nobody else does, and there is a CPU for it. Requires idle.lock.
[[nodiscard]] bool may_stand_by_locked(const scheduler& s) noexcept;

// As above, for an m that has given its P away already: from step 2 on.
bool sleep_without_p(scheduler& s, M* m) noexcept;

// An idle P lacks an M: asks for a thread once more. By the monitor; lacks_m says whether there was none.
void try_missing_m(scheduler& s) noexcept;

// Wakes one for an idle P if wanted says so.
void wake_if_wanted(scheduler& s) noexcept;

// The poller is in use from now on: wakes an M, if one is idle, so that it goes to sleep there.
void wake_to_look(scheduler& s) noexcept;

// Wakes m, which is on no list of idle Ms, or is told something under the lock of those; wherever it sleeps.
void wake_m(M* m) noexcept;

// Wakes every idle M without a P, because the scheduler is stopping.
void wake_all_to_stop(scheduler& s) noexcept;

// m takes p, which nobody else can have: it is idle and the lock is held, or it is being handed over.
void acquire_p(M* m, P* p) noexcept;

// ---- The pieces of it. All require idle.lock.

// Puts p, which belongs to nobody and has no work, on the list.
void put_idle_p_locked(scheduler& s, P* p) noexcept;

// Takes P number index out of the list; nullptr if it is not there.
[[nodiscard]] P* take_this_idle_p_locked(scheduler& s, uint32_t index) noexcept;

// Takes an idle P out of the list, P number preferred if it is idle; nullptr if there is none.
[[nodiscard]] P* take_idle_p_locked(scheduler& s, uint32_t preferred) noexcept;

// The earliest deadline of any P's timers; and whether anything is queued anywhere, or due by now_ns. The latter also without the lock,
// after a fence.
[[nodiscard]] int64_t earliest_deadline(const scheduler& s) noexcept;
[[nodiscard]] bool anything_to_do(scheduler& s, int64_t now_ns) noexcept;

// Takes an M out of the list of those that run any G: the most recent one, but rather not who sleeps in the poller, and rather that one than
// the sentinel; while no P runs rather the sentinel. nullptr if there is none.
[[nodiscard]] M* take_idle_m_locked(scheduler& s) noexcept;

// Puts m on the list.
void put_idle_m_locked(scheduler& s, M* m) noexcept;

// Takes m, which is on a list, off it. Whoever does so wakes it.
void remove_idle_m_locked(scheduler& s, M* m) noexcept;

// m's P belongs to nobody: to be handed over, or put on the list. nullptr: it is under a thief's hands (p.h, I3), who needs no lock and is
// soon done: the caller frees the lock, awaits that, and tries again.
[[nodiscard]] P* try_release_p_locked(M* m) noexcept;
void wait_for_thief(const P& p) noexcept;

// Takes idle.lock, with which m's P belongs to nobody.
[[nodiscard]] P* lock_and_release_p(scheduler& s, M* m) noexcept;

// Counts or discounts an M that looks for work.
void count_spinner_locked(idle_state& idle, int change) noexcept;

// To be called after changes, before the lock is freed: I2.
void publish_wanted_locked(idle_state& idle) noexcept;

}  // namespace weft::detail
