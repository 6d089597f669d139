// stopping.h: runtime::stop with a deadline: cancel, drain, stop, and say who did not come back.
//
// The problem. stop() abandons what has not finished, without unwinding, and waits for ever for a G that does not come back. A service that
// ends wants its Gs to clean up first; and it wants to go on ending when one of them is stuck in a call.
//
// So each wait that is a cancellation point ends with weft::cancelled, as if a scope around all Gs had been cancelled. But there is no such
// scope: a G that is in none waits without a claim word and without any list but its object's queue, which is what makes that cheap. And
// nobody looks at a flag before a wait. So the stopper walks over all Gs, again and again until they have ended, and ends the waits that it
// finds:
//
//   1  Gs that wait or are runnable are frozen, a batch at a time (freeze.h)
//   2  those that still do so do not go on now. Those that are in no context get stop_context() for one: their next waits take the way on
//      which contexts are looked at, and there scheduler.cancelling is, too
//   3  those that wait where they may be cancelled, and are not shielded or unwinding, cannot leave their frames now. A wait with a claim
//      word is claimed for cancellation, as contexts do. One without is unlinked under its object's lock, if that is free, and marked:
//      waiter.claim is cancelled_by_stop. A sleep's timer is removed. Of locks and joins only the forms with a deadline may be cancelled: these
//      have a claim word
//   4  they are thawed; those that were unlinked are made ready
//
// Step 3 does not touch an object that may be gone: it lives until the waits on it return, and a frozen one has not. (Condition variables
// may go before; their waits always have a claim word.) What a lock held meanwhile has kept it from doing, and who was
// running, come with the next round.
//
// The exception is runtime_stopped, which is a weft::cancelled. The first frame of a G catches it: that a G started with go() ends so is what
// was asked for.
//
// Rejected. A context of its own for every G (50 instructions at each start, and a claim at each wait, for what happens once). A flag
// that all waits look at (on the hot path, and those that wait already need the walk in any case). Waking up without unlinking (the waker and the
// walker would both make it ready).
//
// Stragglers. When the deadline has passed, no G is scheduled any more, and Ms end at their next scheduling point. One whose G computes,
// or is in a system call, has none. It is reported, its thread is detached, and the scheduler is left to it for ever: when the G does come
// back, it finds that the scheduler stops, its M leaves its loop, and the thread ends.
//
// Who: a plain thread, a G of another runtime, or the main G on its own stack.
// See: docs/runtime.md
#pragma once

#include <cstdint>

#include <weft/error.h>
#include <weft/runtime.h>

namespace weft::detail {

struct G;
struct scheduler;

// What waits throw in a runtime that stops.
class runtime_stopped : public cancelled {};

// Gs started less Gs finished; never too small: finished ones are counted first.
[[nodiscard]] uint64_t live_gs(const scheduler& s) noexcept;

// Gs that have finished.
[[nodiscard]] uint64_t finished_gs(const scheduler& s) noexcept;

// Lets time pass, for a plain thread or a G, whatever is cancelled around it.
void pause_until_ns(int64_t until_ns);

// Steps 1 to 4 for all Gs of s but self (nullptr: for all). Returns how many waits were interrupted.
std::size_t cancel_waits(scheduler& s, const G* self) noexcept;

// Cancels and waits until all Gs of s, but self, have finished, or the deadline has passed. Returns how many waits were interrupted.
std::size_t cancel_and_drain(scheduler& s, const G* self, int64_t deadline_ns);

// How long after its deadline a stop still waits for those who come back by themselves, as they run no G and write no report, or are
// plain threads within a call: on a busy machine they may have no CPU for longer than stragglers are waited for.
inline constexpr int64_t way_back_ns = 5'000'000'000;

// Whether an M that has not ended runs a G, or a blocking call for one.
[[nodiscard]] bool has_stragglers(scheduler& s) noexcept;

// stop_scheduler() has failed: writes on stderr who is missing, takes all others off the queues they wait in, and leaves s alone for
// ever. Returns how many OS threads have not come back, and in abandoned how many Gs have not finished.
std::size_t leave_stragglers(scheduler& s, std::size_t& abandoned) noexcept;

}  // namespace weft::detail
