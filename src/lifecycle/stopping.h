// stopping.h: runtime::shutdown: cancels, drains, stops, and reports stragglers.
//
// Each wait that is a cancellation point ends with weft::cancelled. Outside contexts a wait has no
// claim word, is only in its object's queue, and checks no flag. So the stopper walks over all Gs
// until all have ended:
//
//   1  freezes Gs that wait or are runnable, in batches (freeze.h)
//   2  gives those that still do, and are in no context, stop_context(): their next waits check
//      contexts, and there scheduler.cancelling
//   3  ends cancellable waits, except of Gs that are shielded or unwinding; these Gs cannot leave
//      their frames. A wait with a claim word is claimed for cancellation. Others are unlinked
//      under their object's lock, if free, and marked: waiter.claim is cancelled_by_stop. A sleep's
//      timer is removed. Locks and joins are cancellable only with a deadline, and then have a
//      claim word
//   4  thaws them, and makes the unlinked ones ready
//
// Step 3 finds objects alive: they outlive their waits, and a frozen wait has not returned.
// (Condition variables may go earlier; their waits always have a claim word.) Where a lock was
// held, or a G ran, the next round follows up.
//
// The exception is runtime_stopped (sched/g_main.h). For go(), it is the requested end.
//
// Rejected. A context for every G: 50 instructions at each start, and a claim at each wait. A flag
// for all waits: it would be on the hot path, and waits in progress need the walk anyway. A wake-up
// without unlinking: waker and walker would both make the G ready.
//
// A straggler's thread is detached, and the scheduler is never freed.
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

// Gs started minus Gs finished. Never too low: counts finished ones first.
[[nodiscard]] uint64_t live_gs(const scheduler& s) noexcept;

[[nodiscard]] uint64_t finished_gs(const scheduler& s) noexcept;

// Sleeps, in a plain thread or a G, whatever is cancelled around it.
void pause_until_ns(int64_t until_ns);

// Steps 1 to 4 for all Gs of s except self (nullptr: all). Returns the number of ended waits.
std::size_t cancel_waits(scheduler& s, const G* self) noexcept;

// The same until those Gs have finished, or the deadline has passed.
std::size_t cancel_and_drain(scheduler& s, const G* self, int64_t deadline_ns);

// Of one green thread, for a simulation, whose only M runs the caller.
enum class ended_wait : uint8_t {
    none,      // it is in no wait that a stop ends
    claimed,   // what ends it makes it ready
    unlinked,  // the caller must make it ready
};

// Ends the wait of g. Later ones check whether a stop reaches g.
[[nodiscard]] ended_wait end_wait_of(G& g) noexcept;

// True if an M that has not ended runs a G, or a blocking call for one.
[[nodiscard]] bool has_stragglers(scheduler& s) noexcept;

// After stop_scheduler() has failed: reports stragglers on stderr, unlinks all other Gs, and leaves
// s for ever. Returns the number of OS threads that have not returned; abandoned: of Gs unfinished.
std::size_t leave_stragglers(scheduler& s, std::size_t& abandoned) noexcept;

}  // namespace weft::detail
