// fork_frame.h: forks: calls that may run on another P, and else run where they are joined.
//
// Problem. A recursive computation that splits in two at each level makes millions of forks, and
// needs a few dozen of them to keep every P busy. A green thread per fork costs 100 ns and more,
// and hardly any of them is stolen.
//
// A fork is a frame in the caller's stack frame, on a list of its green thread. Nothing else
// happens to it in most cases: the join takes it off the list and calls it as a function. While a P
// has no work, each fork and join first promotes the oldest frame of the list, which holds the
// largest part of a recursion: it starts a green thread for it, as weft::go does. That one is
// stolen and run like any other, and the join waits for it.
//
//      fork ──▶ pending ──join──▶ called in place
//                  │
//                  └──promote──▶ promoted: a green thread calls it ──▶ done ──join──▶ result
//
//   1  fork_begin appends the frame to the list. If a P has no work: step 2.
//   2  offer_forks: while fewer Gs are queued on this P than Ps want one, promotes the oldest frame.
//   3  fork_take_back, the first half of a join: removes a pending frame, and executes step 2 for
//      those before it, because the caller may now compute for long. True: the caller calls it.
//   4  fork_wait, the second half for a promoted one: waits for its green thread, frees the record
//      of the promotion, and throws what it threw.
//   5  fork_drop, for a frame that is not joined: a pending one is never called. A promoted one is
//      cancelled and waited for.
//
// The list belongs to the green thread, and only that one touches it. So a green thread may wait,
// or move to another P, between fork and join; what is shared is the promotion alone, and it is a
// spawn, a count_word and a join that exist already. The cost is that only the green thread itself
// can promote. While it computes without a fork, a join or a checkpoint(), or waits, its pending
// frames stay where they are. For a recursion this is as long as one leaf.
//
// Rejected: A Chase-Lev deque per P, with frames that thieves claim. A green thread that waits
//           leaves its frames in a P that it may not return to, so a join must claim, not pop.
//           Every join then costs an atomic exchange or a fence, and idle Ms must search a second
//           queue: a new case in each scan of the idle protocol.
// Rejected: A deque per G, found through its P. The same fences; and a thief would need a pointer
//           to a G that may end meanwhile.
// Rejected: Promotion of everything when a green thread parks. Parking holds the lock of the
//           object, under which nothing can be started.
// Rejected: Promotion at each tick of the monitor, as in heartbeat scheduling. It bounds the delay
//           only where forks and joins are frequent, and there step 2 has none.
//
// Invariants: F1. Frames on a list are pending, in the order of their forks. The list is circular:
//                 newest->newer is the oldest.
//             F2. Promotion takes the oldest. So when a green thread joins its frames in reverse
//                 order and one is promoted, all older ones are.
//             F3. A frame is touched by its promoted green thread only until that counts down.
//             F4. The list of a green thread that ends is empty; else the process ends.
// Threads:    the thread that made the frame. In a plain thread a frame is called when it is joined.
// See:        docs/parallel.md, include/weft/parallel.h
#pragma once

#include <weft/detail/cancel.h>
#include <weft/detail/require.h>
#include <weft/detail/source_location.h>

namespace weft::detail {

struct M;
struct promoted_fork;

// A fork. Lies in its caller's frame, as the base of what it calls.
struct fork_frame {
    fork_frame() noexcept {}  // NOLINT: fork_begin writes all of it

    fork_frame* older;
    fork_frame* newer;
    fork_frame** list;                         // the newest of its green thread; nullptr: joined
    promoted_fork* promoted;                   // nullptr: pending
    cancel_context* context;                   // around the fork, or shield_context(); nullptr: none
    void (*run)(fork_frame&);                  // for a promoted one
    void (*offer)(M*, fork_frame*&) noexcept;  // promotes frames of its list: for checkpoint()
    source_location place;
};

// A plain thread's frame is on a list of its own, whose end is in the frame.
[[nodiscard]] inline bool is_outside(const fork_frame& f) noexcept { return f.list == &f.older; }

// Begins a fork. run(f) calls it, and keeps its result; it may throw.
void fork_begin(fork_frame& f, void (*run)(fork_frame&), source_location where) noexcept;

// Begins the join. True: the caller must call it itself. False: fork_wait() must follow.
[[nodiscard]] bool fork_take_back(fork_frame& f) noexcept;

// Ends the join: returns when run(f) has returned, or throws what it threw.
void fork_wait(fork_frame& f);

// f is not joined.
void fork_drop(fork_frame& f) noexcept;

// Whether a loop should split off a part: a P has no work. In a simulation the schedule decides.
[[nodiscard]] bool wants_fork() noexcept;

// The number of Ps of the caller's runtime; 1 in a plain thread.
[[nodiscard]] unsigned procs_of_caller() noexcept;

}  // namespace weft::detail
