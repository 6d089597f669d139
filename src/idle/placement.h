// placement.h: spreads the threads that hold Ps over the CPUs.
//
// Problem. A G that computes and has lost its P (retake.h) continues without one, as one thread
// more than there are CPUs. To the system all threads are equal. If one of two CPUs has both
// holders of Ps, and the other only the hog, everything queued gets half of the machine. It is two
// threads against one either way, so the system never corrects it. With requests that need half of
// the machine the queue does not shrink: 1 in 100 waited for 50 to 150 ms; 13 to 20 ms with the
// holders spread.
//
// So while there are hogs, the monitor reads the CPU of each hog and of each holder that is not in
// a blocking call, at most once per place_ns. A holder is told to move from CPU A to CPU B if:
//
//   - holders and hogs outnumber the CPUs; otherwise the system has room to spread them
//   - A has two holders or more
//   - B has a hog, no holder, and fewer of both than A
//
//      the monitor                                    M, on g0, with its P, not spinning
//      L1  M.move_to = the CPU                        L3  move_to is set: clears it,
//      L2  asks M's P to go through g0, as                and moves (os/cpu_affinity.h)
//          for a returned G (injected.h)
//
// M allows itself one CPU for a moment. It does so itself, on g0, because a G that ran then could
// read that mask, or create threads that inherit it. A mask that another thread sets for M at that
// moment is lost.
//
// When M next acquires a P, a pending move_to is dropped: the situation has changed, and the
// monitor decides again.
//
// Rejected: A permanent mask of one CPU per holder. Other processes need CPUs too, and the system
// would have no choice.
// Rejected: Moving M from outside, wherever it is. Its G may be counting CPUs, or creating a
// thread.
// Rejected: A lower priority for hogs. An unprivileged thread cannot raise it again.
// Rejected: /proc, to find a thread's CPU. It takes 5 µs per thread.
// Rejected: Leaving the hog its P, as Go does. It would have to be interrupted to lose the P, and
// would be no better off.
//
// Invariants: I1. idle.absent.hogs counts the Ms whose is_hog is set; absent.without_p counts them, too.
// Locks:      the idle lock and scheduler.threads_lock, one after the other.
// Threads:    the monitor; move_as_told: each M.
// See:        docs/retake.md
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "os/cpu_affinity.h"
#include "sched/m.h"

namespace weft::detail {

struct idle_state;
struct scheduler;

// How many holders and hogs are on each CPU. A thread whose CPU is unknown is not counted.
class cpu_census {
public:
    void add_holder(uint32_t cpu) noexcept;
    void add_hog(uint32_t cpu) noexcept;

    // Returns true if two holders share a CPU.
    [[nodiscard]] bool any_shares() const noexcept { return sharers_ != 0; }

    [[nodiscard]] bool shares(uint32_t cpu) const noexcept { return cpu < os::cpus_max && holders_[cpu] > 1; }

    // The number of threads counted.
    [[nodiscard]] uint32_t size() const noexcept { return size_; }

    // The CPU to which a holder should move from cpu, which it shares. It has no holder, at least
    // one hog, and fewer of both than cpu; of such CPUs, the one with the fewest hogs. no_cpu if no
    // CPU qualifies.
    [[nodiscard]] uint32_t better_than(uint32_t cpu) const noexcept;

private:
    uint16_t holders_[os::cpus_max] = {};
    uint16_t hogs_[os::cpus_max] = {};
    uint32_t sharers_ = 0;  // CPUs with several holders
    uint32_t size_ = 0;
};

class placement {
public:
    static constexpr int64_t place_ns =
        5'000'000;  // at least, from one check to the next; more frequent ones make it worse

    // Checks, if place_ns have passed, and tells at most one thread to move. The monitor.
    void look(scheduler& s, int64_t now_ns) noexcept;

    // Counts a thread that has moved. Any thread.
    void count() noexcept { moved_.fetch_add(1, relaxed); }  // relaxed: statistics

    // The number of threads that have moved. Any thread.
    [[nodiscard]] uint64_t moved() const noexcept { return moved_.load(relaxed); }  // relaxed: statistics

private:
    void tell_one_locked(scheduler& s, uint32_t hogs) noexcept;

    atomic<uint64_t> moved_{0};

    // Monitor only.
    int64_t looked_ns_ = 0;
    uint32_t first_ = 0;  // the P checked first; it rotates, so that a different one may be told
};

// Sets whether m is a hog. Caller must hold the idle lock.
void set_hog_locked(idle_state& idle, M* m, bool is_one) noexcept;

// L3. Moves m, the calling M, if it was told to. On g0.
void move_now(M* m) noexcept;

[[gnu::always_inline]] inline void move_as_told(M* m) noexcept {
    if (m->move_to.load(relaxed) != os::no_cpu) [[unlikely]]  // relaxed: it matters when, not whether
        move_now(m);
}

}  // namespace weft::detail
