// placement.h: spreads the threads that hold Ps over the CPUs.
//
// If two holders of Ps share one of two CPUs, and a hog (retake.h) has the other, queued work gets
// half of the machine, and the system does not correct that. So the monitor reads the CPU of each
// hog, and of each holder that is not in a blocking call. It tells a holder to move from CPU A to
// CPU B if:
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
// M allows itself one CPU for a moment, on g0, because a G could read that mask or create threads
// that inherit it. A mask that another thread sets for M meanwhile is lost.
//
// Rejected: Moving M from outside. Its G may be counting CPUs, or creating a thread.
// Rejected: /proc, to find a thread's CPU. It takes 5 µs per thread.
// Rejected: Leaving the hog its P, as Go does. It must be interrupted to lose the P.
//
// Invariants: I1. idle.absent.hogs counts the Ms whose is_hog is set; absent.without_p counts them,
//                 too.
// Locks:      the idle lock and scheduler.threads_lock, one after the other.
// Threads:    the monitor; move_as_told: each M.
// See:        docs/retake.md (measurements, more rejected designs)
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "os/cpu_affinity.h"
#include "sched/m.h"

namespace weft::detail {

struct idle_state;
struct scheduler;

// Threads per CPU. One whose CPU is unknown is not counted.
class cpu_census {
public:
    void add_holder(uint32_t cpu) noexcept;
    void add_hog(uint32_t cpu) noexcept;

    // Whether two holders share a CPU.
    [[nodiscard]] bool any_shares() const noexcept { return sharers_ != 0; }

    [[nodiscard]] bool shares(uint32_t cpu) const noexcept { return cpu < os::cpus_max && holders_[cpu] > 1; }

    // The number of threads counted.
    [[nodiscard]] uint32_t size() const noexcept { return size_; }

    // Returns the CPU B for A = cpu: the one with the fewest hogs; no_cpu without one.
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

    // Tells at most one thread to move, if place_ns have passed. Monitor only.
    void look(scheduler& s, int64_t now_ns) noexcept;

    // Any thread.
    void count() noexcept { moved_.fetch_add(1, relaxed_count); }

    // Any thread.
    [[nodiscard]] uint64_t moved() const noexcept { return moved_.load(relaxed_count); }

private:
    void tell_one_locked(scheduler& s, uint32_t hogs) noexcept;

    atomic<uint64_t> moved_{0};

    // Monitor only.
    int64_t looked_ns_ = 0;
    uint32_t first_ = 0;  // the P checked first; it rotates, so that a different one may be told
};

// Caller must hold the idle lock.
void set_hog_locked(idle_state& idle, M* m, bool is_one) noexcept;

// L3, on g0, for the calling M.
void move_now(M* m) noexcept;

[[gnu::always_inline]] inline void move_as_told(M* m) noexcept {
    if (m->move_to.load(relaxed) != os::no_cpu) [[unlikely]]  // relaxed: it matters when, not whether
        move_now(m);
}

}  // namespace weft::detail
