// stopping.h: runtime::stop with a deadline: cancels, drains, stops, and reports what did not
// return.
//
// stop() abandons unfinished Gs without unwinding, and waits for ever for a G that does not return.
// A stop with a deadline lets Gs clean up, and does not hang on one that is stuck in a call.
//
// Each wait that is a cancellation point ends with weft::cancelled, as if a scope around all Gs
// were cancelled. There is no such scope: outside contexts, a wait has no claim word, is only in
// its object's queue, and reads no flag before. So the stopper walks over all Gs until all have
// ended:
//
//   1  freezes Gs that wait or are runnable, in batches (freeze.h)
//   2  gives those still in these states and in no context stop_context(), so that their next waits
//      take the path that checks contexts, and there scheduler.cancelling
//   3  ends cancellable waits of Gs that are not shielded or unwinding; these cannot leave their
//      frames now. A wait with a claim word is claimed for cancellation, as by contexts. Another is
//      unlinked under its object's lock, if that is free, and marked: waiter.claim is
//      cancelled_by_stop. A sleep's timer is removed. Locks and joins are cancellable only in the
//      forms with a deadline, which have a claim word
//   4  thaws them, and makes the unlinked ones ready
//
// Step 3 never touches a destroyed object: it outlives the waits on it, and a frozen wait has not
// returned. (Condition variables may go earlier, but their waits always have a claim word.) Objects
// whose lock was held, and Gs that were running, follow in the next round.
//
// The exception is runtime_stopped, derived from weft::cancelled. A G's first frame catches it: for
// a G started with go() that is the requested end.
//
// Rejected. A context for every G: 50 instructions at each start and a claim at each wait, for a
// rare event. A flag checked by all waits: on the hot path, and the walk is needed for current
// waits anyway. Waking without unlinking: both waker and walker would make the G ready.
//
// Stragglers. After the deadline no G is scheduled, and Ms end at their next scheduling point. An M
// whose G computes, or is in a system call, has none. It is reported, its thread is detached, and
// the scheduler is never freed. If the G returns, it finds the scheduler stopping, its M leaves its
// loop, and the thread ends.
//
// Threads: a plain thread, a G of another runtime, or the main G on its own stack.
// See:     docs/runtime.md
#pragma once

#include <cstdint>

#include <weft/error.h>
#include <weft/runtime.h>

namespace weft::detail {

struct G;
struct scheduler;

// Thrown by waits in a runtime that stops.
class runtime_stopped : public cancelled {};

// Gs started minus Gs finished. Never too low: finished ones are counted first.
[[nodiscard]] uint64_t live_gs(const scheduler& s) noexcept;

// Gs that have finished.
[[nodiscard]] uint64_t finished_gs(const scheduler& s) noexcept;

// Sleeps, as a plain thread or a G, regardless of cancellation around it.
void pause_until_ns(int64_t until_ns);

// Steps 1 to 4 for all Gs of s except self (nullptr: all). Returns the number of waits ended.
std::size_t cancel_waits(scheduler& s, const G* self) noexcept;

// Cancels until all Gs of s except self have finished, or the deadline has passed. Returns the
// number of waits ended.
std::size_t cancel_and_drain(scheduler& s, const G* self, int64_t deadline_ns);

// How long after its deadline a stop waits for threads that will return by themselves: Ms without a
// G or a report to write, and plain threads in a call. On a busy machine they may get no CPU for
// longer than the grace period of stragglers.
inline constexpr int64_t way_back_ns = 5'000'000'000;

// True if an M that has not ended runs a G, or a blocking call for one.
[[nodiscard]] bool has_stragglers(scheduler& s) noexcept;

// After a failed stop_scheduler(): writes on stderr what is missing, unlinks all other Gs from the
// queues they wait in, and leaves s for ever. Returns how many OS threads have not returned;
// abandoned: how many Gs have not finished.
std::size_t leave_stragglers(scheduler& s, std::size_t& abandoned) noexcept;

}  // namespace weft::detail
