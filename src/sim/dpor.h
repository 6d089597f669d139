// dpor.h: all orders that a test can tell apart.
//
// Problem. `exhaustive` tries all orders of steps. Most of them differ only in the order of steps
// that do not affect each other: three green threads that lock one mutex each, 20 times, have more
// orders than there are atoms, and one result.
//
// Solution: dynamic partial-order reduction (Flanagan and Godefroid, "Dynamic Partial-Order
// Reduction for Model Checking Software", 2005) with sleep sets (Godefroid, "Partial-Order Methods
// for the Verification of Concurrent Systems", 1996).
//
//   - Two events depend on each other if both use the same object, and one of them changes it.
//   - Two events of different green threads race if they depend on each other, and nothing else
//     orders them. If they were swapped, the test could end differently. So where the first one was
//     chosen, the green thread of the second one must be tried as well.
//   - A green thread that was tried at a decision sleeps while the others are tried there. It wakes
//     with the first event that its own one depends on. A schedule in which only sleepers are left
//     repeats an earlier one.
//
// An *event* is one step: an operation, and the code up to the next step. Its objects are those of
// its operation, and those that it reports within (what select() chose, the lock of a condition
// variable).
//
// What is not known exactly depends on everything:
//   - operations on several objects (select) or on none (yield, checkpoint, steps of files),
//   - the clock, cancellation, which wakes waits on other objects, and sockets, whose two ends
//     differ,
//   - an event that drew a value or a random number.
//
// A green thread that goes on after a wait may use its object again, as one that waited for a mutex
// does. One that waited for a channel does not: what woke it has done all.
//
// A timer or packet that is due within options::lateness is tried at each decision, because a step
// may stop it, so that it is never seen. Other ones happen when all wait, so after all events.
//
// Rejected: a bound on preemptions beside it. The reduction moves preemptions to other places, so
//           the bound would cut off orders whose equals within the bound are cut off, too.
//           Optimal reduction (source sets and wake-up trees): it saves the repeated schedules, a
//           few per cent in small tests, and is several times the code.
//           Objects' addresses in sleep sets: they differ between schedules. A sleeper's operation
//           is read again in each schedule, where it still is the next one.
//
// Invariants: R1  A green thread has the same number in all schedules with the same choices before.
//             R2  A sleeper has not begun its step since it fell asleep.
//             R3  Nodes before the one that changes are the same in the next schedule.
//
// Threads: the simulation's M.
// See:     docs/sim.md#all-orders
#pragma once

#include <memory>

#include "sim/strategies.h"

namespace weft::sim {

[[nodiscard]] std::unique_ptr<chooser> make_dpor();

}  // namespace weft::sim
