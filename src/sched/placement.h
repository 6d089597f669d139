// placement.h: the threads that hold Ps, spread over the CPUs.
//
// The problem. A G that computes and has lost its P (retake.h) goes on without one: a thread more than there are CPUs. Which of them share
// a CPU is up to the system, to which they are all the same. To us they are not. With two CPUs, if both threads that hold Ps are on the one,
// and the hog has the other to itself, all that is queued has to do with half of the machine; and as it is two against one whichever way,
// the system sees nothing to mend, and it stays so. With half of the machine's worth of requests their queue does not shrink meanwhile:
// one in a hundred waited for 50 to 150 ms. Spread, it is 13 to 20.
//
// So while there are hogs the monitor looks, every place_ns at most, on which CPU everybody is: those who hold Ps and are not in a declared
// call, and the hogs. If they are more than there are CPUs (else the system has room to spread them), and some CPU has two holders, and
// another one a hog and no holder, and fewer of ours than the first, then a holder is told to move from the first to the second.
//
//      the monitor                                    M, on g0, with its P, not looking for work
//      L1  M.move_to = the CPU                        L3  move_to is set: clears it,
//      L2  asks M's P to look, as if for an               and moves (os/cpu_affinity.h)
//          arrival (arrivals.h)
//
// M moves by allowing itself one CPU for a moment. It does so itself, and on g0, because meanwhile its mask is seen by who asks for it, and
// inherited by threads that are made: no G may run on it then. Who sets the mask of that thread from outside at that very moment loses.
//
// What M was told is void when it next acquires a P: things have changed. It is told again.
//
// Rejected. A mask of one CPU for each holder, for good (other processes want CPUs, too, and the system would have no choice). Moving M
// from outside, where it is (its G may be asking how many CPUs there are, or be making a thread). A lower priority for hogs (who is not
// privileged does not get the higher one back). /proc, for where a thread is (5 µs for each). Leaving the hog its P, as Go does (it would
// have to be interrupted to lose it; and then it is nowhere better off).
//
// Invariants: I1. idle.hogs counts the Ms whose is_hog is set. They are among those that idle.off_p counts.
// Locks:      idle.lock and scheduler.threads_lock, one after the other.
// Who:        the monitor; move_as_told by each M.
// See:        docs/retake.md
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "os/cpu_affinity.h"
#include "sched/m.h"

namespace weft::detail {

struct idle_state;
struct scheduler;

// Who is on which CPU. Those whose place is not known count nowhere.
class cpu_census {
public:
    void add_holder(uint32_t cpu) noexcept;
    void add_hog(uint32_t cpu) noexcept;

    // Whether some holder shares its CPU with another one.
    [[nodiscard]] bool any_shares() const noexcept { return sharers_ != 0; }

    [[nodiscard]] bool shares(uint32_t cpu) const noexcept { return cpu < os::cpus_max && holders_[cpu] > 1; }

    // How many were added.
    [[nodiscard]] uint32_t size() const noexcept { return size_; }

    // Where a holder is better off than on cpu, which it shares: the CPU with the fewest hogs, one at least, and no holder, and fewer of both
    // than cpu; no_cpu if there is none.
    [[nodiscard]] uint32_t better_than(uint32_t cpu) const noexcept;

private:
    uint16_t holders_[os::cpus_max] = {};
    uint16_t hogs_[os::cpus_max] = {};
    uint32_t sharers_ = 0;  // CPUs with several holders
    uint32_t size_ = 0;
};

class placement {
public:
    static constexpr int64_t place_ns = 5'000'000;  // from one look to the next, at least; more often makes it worse

    // Looks, if it is time, and tells at most one thread to move. The monitor.
    void look(scheduler& s, int64_t now_ns) noexcept;

    // A thread has moved. Any thread.
    void count() noexcept { moved_.fetch_add(1, relaxed); }  // relaxed: statistics

    // So many have.
    [[nodiscard]] uint64_t moved() const noexcept { return moved_.load(relaxed); }  // relaxed: statistics

private:
    void tell_one_locked(scheduler& s, uint32_t hogs) noexcept;

    atomic<uint64_t> moved_{0};

    // The monitor's own.
    int64_t looked_ns_ = 0;
    uint32_t first_ = 0;  // the P that is looked at first: not always the same one is told
};

// Whether m is a hog from here on. idle.lock is held.
void set_hog_locked(idle_state& idle, M* m, bool is_one) noexcept;

// L3, if m, which is the calling M, on g0, was told to.
void move_now(M* m) noexcept;

[[gnu::always_inline]] inline void move_as_told(M* m) noexcept {
    if (m->move_to.load(relaxed) != os::no_cpu) [[unlikely]]  // relaxed: it matters when, not whether
        move_now(m);
}

}  // namespace weft::detail
