// p.h: P, the right to run green threads, with its queue, timers and caches.
//
// The number of Ps is how many Gs are scheduled at once; a G whose M has lost its P runs in
// addition to these. A P is held by one M, or is on the idle list.
//
// The owner word holds the M and, in its low bits, requests for the M's attention. The hot path
// compares the whole word with the M once per runtime entry. If they differ, another thread works
// on the P, wants the G to go through g0, or has taken the P: retake.h.
//
// run_next belongs to the owner, which reads and writes it as a plain variable, because every
// hand-off touches it. Another M may steal from it only while the owner is in user code, and keeps
// the owner out during the theft:
//
//      thief                                          owner, entering the runtime
//      T1  owner |= asked, by CAS                     E1  in_runtime = 1
//      T2  heavy fence                                E2  compiler fence
//      T3  in_runtime == 0: takes run_next            E3  owner has asked: waits until it is clear
//      T4  owner &= ~asked                            …   leaving: in_runtime = 0, release
//
// The heavy fence falls before or after E1. After E1, T3 sees the 1 and the thief gives up. Before
// E1, E3 sees asked and waits. Without a heavy fence in the system, the bit fence is set in every
// owner word and every entry executes a full fence.
//
//      idle ──acquire──▶ running ──release──▶ idle        (stopped and dead: when the number of Ps changes)
//                           │                  ▲
//                           └─────retake───────┘          (by the monitor, which hands the P off)
//
// Invariants: I1. While a P runs, exactly one M is named by p.owner; an idle P has an empty queue
//                 and run_next.
//             I2. run_next is written by the owner in the runtime, or by a thread that has set
//                 asked and found the owner outside.
//             I3. A P changes its M only while asked is clear.
// Threads:    "owner" is the M that holds the P.
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
inline constexpr uintptr_t asked = 1;    // a thief works on the P: stay out of the runtime
inline constexpr uintptr_t preempt = 2;  // go through g0 at the next switch: slice over, stopping, tracing
inline constexpr uintptr_t fence = 4;    // no heavy fence in the system: entry takes a full one; never cleared
// The monitor is about to take the P; an M that enters clears the bit and keeps the P.
inline constexpr uintptr_t retake = 8;
inline constexpr uintptr_t arrival = 16;  // go through g0 at the next switch: a G returned, see arrivals.h
inline constexpr uintptr_t mask = 63;
}  // namespace attention

static_assert(alignof(M) > attention::mask, "the bits lie below an M's address");

// The M that an owner word names; nullptr: no M.
[[nodiscard]] inline M* holder_of(uintptr_t word) noexcept { return reinterpret_cast<M*>(word & ~attention::mask); }

// Written by the owner only, so a load and a store suffice. Any thread may read it.
class counter {
public:
    void add(uint64_t n = 1) noexcept { value_.store(value_.load(relaxed) + n, relaxed); }  // relaxed: statistics

    // As add(1). A thread that reads the result with get_acquire() sees what was done before.
    void add_release() noexcept { value_.store(value_.load(relaxed) + 1, release); }  // relaxed: only we write it

    [[nodiscard]] uint64_t get() const noexcept { return value_.load(relaxed); }  // relaxed: statistics

    [[nodiscard]] uint64_t get_acquire() const noexcept { return value_.load(acquire); }  // pairs with add_release

private:
    atomic<uint64_t> value_{0};
};

struct alignas(2 * cache_line) P {
    static constexpr uint32_t global_every = 61;       // schedules between looks at the global queue
    static constexpr uint32_t high_in_a_row = 16;      // then another class is due
    static constexpr uint32_t low_every = 60;          // schedules between two low Gs that are due
    static constexpr uint32_t cached_gs_max = 64;      // dead Gs kept; half spills
    static constexpr uint32_t cached_stacks_max = 32;  // stacks kept apart from Gs
    static constexpr uint32_t bound_gs_max = 32;       // dead Gs that keep their stacks
    static constexpr uint32_t cache_batch = 32;
    static constexpr uint32_t credits_max = 64;

    // Touched by a switch.
    atomic<uintptr_t> owner{0};  // M | attention bits; 0: idle
    atomic<G*> run_next{nullptr};
    atomic<uint32_t> ticks_left{global_every};  // schedules until the next pass through g0; written by the owner
    uint32_t index = 0;                         // owner only, like all non-atomic members
    counter inherited;                          // schedules that inherited their slice: those from run_next
    lifo<G> dead_gs;                            // those with a stack are among the oldest bound_gs_max
    lifo<struct stack> stacks;                  // class 0
    uint32_t credits = 0;                       // for stacks; see stack.h
    atomic<p_state> state{p_state::idle};
    uint64_t next_id = 0;    // next G id to give out …
    uint64_t end_id = 0;     // … up to here
    int64_t now_ns = 0;      // the clock when it was last read
    uint64_t clock_due = 0;  // CPU ticks at which a P with timers reads the clock again

    run_queue queue;
    timer_queue timers;

    // Gs of the other classes, see classes.h.
    shared_queue high;
    shared_queue low;
    uint32_t high_left = high_in_a_row;
    bool low_waits = false;    // low Gs were seen waiting
    uint64_t low_due = 0;      // if so: the tick from which one of them is due
    uint64_t global_due = 0;   // the tick from which the global queue is checked
    uint32_t raised_seen = 0;  // scheduler::raised as move_raised_of last saw it

    // Whether arrivals or other Gs are due: see arrivals.h.
    int64_t arrival_began_ns = 0;      // start of the running arrival; 0: none runs
    int64_t arrivals_due_ns = 0;       // the next arrival is not due before this time …
    uint64_t arrivals_due = 0;         // … nor before this tick
    uint32_t arrivals_look_after = 1;  // schedules until the next check, while one waits for that

    uint32_t left_behind = 0;  // stacks that did not stay with their ended Gs; for samples of their depth

    // g0's view of the time slice, see schedule.h.
    uint64_t slice_seen = 0;    // the slice at its last look …
    int64_t slice_seen_ns = 0;  // … and when it first saw that slice
    uint32_t ring_popped = 0;   // run_queue::popped() then …
    int64_t ring_waits_ns = 0;  // … and how long that has not changed with a non-empty ring: since when

    atomic<bool> gives_back{false};  // request to the owner: give what it keeps for reuse to the pools. trim.h

    struct {
        counter spawned, finished, parks, steals, steal_rounds, global_gets, overflows, timers_fired;
        counter preempted, interrupted;  // Gs that gave way in instrumented code, and by a signal
        counter stack_hits, stack_misses, g_hits, g_misses, switches;  // switches: up to the last new countdown
        counter preemptions;
    } count;

    // How long Gs run by g0 here were runnable: weft::scheduling_latency.
    counter latency[latency_histogram::buckets];

    // Schedules so far. Any thread: exact for the owner, approximate for others.
    [[nodiscard]] uint64_t tick() const noexcept {
        return count.switches.get() + uint64_t{global_every} - ticks_left.load(relaxed);  // relaxed: approximate
    }

    // The number of the time slice; changed by each schedule that does not inherit it. Any thread,
    // as tick().
    [[nodiscard]] uint64_t slice() const noexcept { return tick() - inherited.get(); }

    // The next schedule begins a slice even if it comes from run_next. Owner.
    void begin_slice() noexcept { inherited.add(~uint64_t{0}); }

    // Starts the countdown of n schedules to the next pass through g0. Owner.
    void restart_ticks(uint32_t n = global_every) noexcept {
        count.switches.add(uint64_t{n} - ticks_left.load(relaxed));  // keeps tick() unchanged. relaxed: ours
        ticks_left.store(n, relaxed);                                // relaxed: only we write it
    }

    // Makes the next switch go through g0: the countdown ends. Owner.
    void end_ticks() noexcept { restart_ticks(1); }

    [[nodiscard]] bool has_work() const noexcept {
        // relaxed: a look; the idle protocol fences
        return run_next.load(relaxed) != nullptr || !queue.empty() || high.size() != 0 || low.size() != 0;
    }
};

// relaxed: a hint; the idle protocol fences
inline constexpr uint32_t stacks_kept_by_p = P::cached_stacks_max + P::bound_gs_max + 1;

}  // namespace weft::detail
