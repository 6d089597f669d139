// p.h: P, the right to run green threads, with its queue, timers and caches.
//
// The owner word holds the P's M and, in its low bits, requests for its attention: docs/retake.md.
//
// run_next is a plain variable to the owner, because every hand-off touches it. Another M may steal
// from it only while the owner is in user code, and keeps the owner out:
//
//      thief                                          owner, entering the runtime
//      T1  owner |= asked, by CAS                     E1  in_runtime = 1
//      T2  heavy fence                                E2  compiler fence
//      T3  in_runtime == 0: takes run_next            E3  owner has asked: waits until it is clear
//      T4  owner &= ~asked                            …   leaving: in_runtime = 0, release
//
// If the heavy fence falls after E1, T3 sees the 1 and the thief gives up. If before, E3 sees asked
// and waits.
//
//      idle ──acquire──▶ running ──release──▶ idle        (stopped, dead: the number of Ps changes)
//                           │                  ▲
//                           └─────retake───────┘          (by the monitor, which hands the P off)
//
// Invariants: I1. A running P's owner names exactly one M; an idle P has an empty queue and
//                 run_next.
//             I2. run_next is written by the owner in the runtime, or by a thread that has set
//                 asked and found the owner outside.
//             I3. A P changes its M only while asked is clear.
// Threads:    "owner" is the M that holds the P. Plain members are its own; index is immutable.
// See:        docs/retake.md, test/model/run_next.pml
#pragma once

#include <cstdint>

#include <weft/debug.h>

#include "base/atomic.h"
#include "base/list.h"
#include "sched/g.h"
#include "sched/m.h"
#include "sched/run_queue.h"
#include "sched/shared_queue.h"
#include "sched/timer_queue.h"
#include "stack/stack.h"

namespace weft::detail {

enum class p_state : uint8_t { idle, running, stopped, dead };

// Low bits of the owner word.
namespace attention {
inline constexpr uintptr_t asked = 1;    // stay out of the runtime
inline constexpr uintptr_t preempt = 2;  // go through g0 at the next switch
inline constexpr uintptr_t fence = 4;    // no heavy fence: entry takes a full one; never cleared
// The monitor is about to take the P; an M that enters clears the bit and keeps it.
inline constexpr uintptr_t retake = 8;
inline constexpr uintptr_t injected = 16;  // as preempt, for an injected G: injected.h
inline constexpr uintptr_t mask = 63;
}  // namespace attention

static_assert(alignof(M) > attention::mask, "the flags fit into the low bits of an M's address");

// nullptr: no M.
[[nodiscard]] inline M* holder_of(uintptr_t word) noexcept { return reinterpret_cast<M*>(word & ~attention::mask); }

// Written by the owner only. Read by any thread.
class counter {
public:
    void add(uint64_t n = 1) noexcept { value_.store(value_.load(relaxed_count) + n, relaxed_count); }

    // add(1); get_acquire() sees what was done before.
    void add_release() noexcept { value_.store(value_.load(relaxed_own) + 1, release); }  // pairs with get_acquire

    [[nodiscard]] uint64_t get() const noexcept { return value_.load(relaxed_count); }

    [[nodiscard]] uint64_t get_acquire() const noexcept { return value_.load(acquire); }  // pairs with add_release

private:
    atomic<uint64_t> value_{0};
};

struct alignas(2 * cache_line) P {
    static constexpr uint32_t global_every = 61;       // schedules between checks of the global queue
    static constexpr uint32_t high_in_a_row = 16;      // then another class is due
    static constexpr uint32_t low_every = 60;          // schedules between low Gs that are due
    static constexpr uint32_t cached_gs_max = 64;      // dead Gs kept; half spills
    static constexpr uint32_t cached_stacks_max = 32;  // stacks kept apart from Gs
    static constexpr uint32_t bound_gs_max = 32;       // dead Gs that keep their stacks
    static constexpr uint32_t cache_batch = 32;
    static constexpr uint32_t credits_max = 64;

    // Touched by a switch.
    atomic<uintptr_t> owner{0};  // M | attention bits; 0: idle
    atomic<G*> run_next{nullptr};
    atomic<uint32_t> ticks_left{global_every};  // schedules to the next pass through g0; owner writes
    uint32_t index = 0;
    counter inherited;          // schedules that inherited their slice
    lifo<G> dead_gs;            // those with a stack are among the oldest bound_gs_max
    lifo<struct stack> stacks;  // class 0
    uint32_t credits = 0;       // for stacks: stack.h
    atomic<p_state> state{p_state::idle};
    uint64_t next_id = 0;  // ids for new Gs: next_id to end_id - 1
    uint64_t end_id = 0;
    int64_t now_ns = 0;      // the clock, last read
    uint64_t clock_due = 0;  // CPU ticks when a P with timers reads the clock

    run_queue queue;
    timer_queue timers;

    // Gs of other classes: priority_queues.h.
    shared_queue high;
    shared_queue low;
    uint32_t high_left = high_in_a_row;
    bool low_waits = false;
    uint64_t low_due = 0;      // if low_waits: the tick when a low G is due
    uint64_t global_due = 0;   // the tick when the global queue is checked
    uint32_t raised_seen = 0;  // scheduler::raised at the last move_raised_of

    // The injected queue: injected.h.
    int64_t injected_began_ns = 0;     // start of the running injected G; 0: none
    int64_t injected_due_ns = 0;       // the next is not due before this time …
    uint64_t injected_due = 0;         // … nor before this tick
    uint32_t injected_look_after = 1;  // schedules to the next check while one waits

    uint32_t left_behind = 0;  // stacks not kept by their ended Gs; for depth samples

    // The time slice as g0 sees it: schedule.h.
    uint64_t slice_seen = 0;
    int64_t slice_seen_ns = 0;  // when it was first seen
    uint32_t ring_popped = 0;   // run_queue::popped() then …
    int64_t ring_waits_ns = 0;  // … and since when it is unchanged, with a non-empty ring

    atomic<bool> gives_back{false};  // asks the owner to return its caches: trim.h

    struct {
        counter spawned, finished, parks, steals, steal_rounds, global_gets, overflows, timers_fired;
        counter preempted, interrupted;  // Gs that gave way in instrumented code, and by a signal
        counter stack_hits, stack_misses, g_hits, g_misses, switches;  // switches: up to the last countdown
        counter preemptions;
    } count;

    // How long Gs run by g0 were runnable: weft::scheduling_latency.
    counter latency[latency_histogram::buckets];

    // How late timers fired on this P: the first of those that fired together.
    counter timer_lateness[latency_histogram::buckets];

    // How long before a poll that found events the poller was last asked, if no M slept in it: the
    // longest that an event of that batch may have waited.
    counter poll_delay[latency_histogram::buckets];

    // Schedules so far. Any thread; exact for the owner only.
    [[nodiscard]] uint64_t tick() const noexcept {
        return count.switches.get() + uint64_t{global_every} - ticks_left.load(relaxed_hint);
    }

    // The number of the time slice. Any thread, as tick().
    [[nodiscard]] uint64_t slice() const noexcept { return tick() - inherited.get(); }

    // The next schedule begins a slice even if from run_next. Owner.
    void begin_slice() noexcept { inherited.add(~uint64_t{0}); }

    // The next pass through g0 is in n schedules. Owner.
    void restart_ticks(uint32_t n = global_every) noexcept {
        count.switches.add(uint64_t{n} - ticks_left.load(relaxed));  // keeps tick(). relaxed: ours
        ticks_left.store(n, relaxed_own);
    }

    void end_ticks() noexcept { restart_ticks(1); }

    [[nodiscard]] bool has_work() const noexcept {
        // relaxed: a look; the idle protocol fences
        return run_next.load(relaxed) != nullptr || !queue.empty() || high.size() != 0 || low.size() != 0;
    }
};

inline constexpr uint32_t stacks_kept_by_p = P::cached_stacks_max + P::bound_gs_max + 1;

}  // namespace weft::detail
