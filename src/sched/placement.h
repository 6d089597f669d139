// placement.h: the threads that hold Ps, spread over the CPUs.
//
// The problem. A G that computes and has lost its P (retake.h) goes on without one: a thread more than there are CPUs. Which of them share
// a CPU is up to the system, to which they are all the same. To us they are not. With two CPUs, if both threads that hold Ps are on the one,
// and the hog has the other to itself, all that is queued has to do with half of the machine; and as it is two against one whichever way,
// the system sees nothing to mend, and it stays so. With half of the machine's worth of requests their queue does not shrink meanwhile:
// one in a hundred waited for 50 to 150 ms. Spread, it is 12 to 15.
//
// So while there are such hogs the monitor looks, every place_ns at most, on which CPU everybody is. Is there one with two holders of Ps,
// and one with a hog and without a holder, a holder is told to move from the first to the second. To the system that is as balanced as
// before: two against one.
//
//      the monitor                                    M, on g0, with its P
//      L1  M.move_to = the CPU                        L3  move_to is set: clears it,
//      L2  asks M's P to look, as if for an               allows itself that CPU only,
//          arrival (arrivals.h)                           and then those that it had before
//
// To be where it is to be is the first call's effect; the second lets the system move the thread on whenever it wants to. M does that itself
// and on g0, because between the two calls its mask is seen by who asks for it, and inherited by threads that are made: no code of users may
// run on it then.
//
// The second call is not the opposite of the first, though: before, the thread may have had no mask at all, and followed its cpuset when
// that got more CPUs. So the monitor, which never moves, looks once a second whether its own mask is another one by now, and gives that
// to all Ms whose mask is what its own was. A thread that somebody has given yet another mask keeps it.
//
// Rejected. A mask of one CPU for each holder, for good (other processes want CPUs, too, and the system would have no choice). Moving M from
// outside, where it is (its G may be asking how many CPUs there are, or be making a thread). A lower
// priority for hogs (who is not privileged does not get the higher one back). /proc, for where a thread is (5 µs for each). Leaving the
// hog its P, as Go does (it would have to be interrupted to lose it; and then it is nowhere better off).
//
// Locks:      idle.lock and scheduler.threads_lock, one after the other.
// Who:        the monitor; move_as_told by each M.
// See:        docs/retake.md
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "os/cpu_affinity.h"
#include "sched/m.h"

namespace weft::detail {

struct scheduler;

// Who is on which CPU.
class cpu_census {
public:
    void add_holder(uint32_t cpu) noexcept;

    // Whether some holder shares its CPU with another one.
    [[nodiscard]] bool any_shares() const noexcept { return shared_; }

    [[nodiscard]] bool shares(uint32_t cpu) const noexcept { return cpu < os::cpus_max && holders_[cpu] > 1; }

    [[nodiscard]] bool has_holder(uint32_t cpu) const noexcept { return cpu >= os::cpus_max || holders_[cpu] != 0; }

private:
    uint16_t holders_[os::cpus_max] = {};
    bool shared_ = false;
};

class placement {
public:
    static constexpr int64_t place_ns = 1'000'000;  // from one look to the next, at least

    // Looks, if it is time, and tells at most one thread to move.
    void look(scheduler& s, int64_t now_ns) noexcept;

    // If the monitor's mask is not what it was when a thread was first told to move: all Ms that have that one get the new one. From time to
    // time. May throw std::bad_alloc; then nothing has happened.
    void follow_mask(scheduler& s);

    // A thread has moved. Any thread.
    void count() noexcept { moved_.fetch_add(1, relaxed); }  // relaxed: statistics

    // So many have.
    [[nodiscard]] uint64_t moved() const noexcept { return moved_.load(relaxed); }  // relaxed: statistics

private:
    atomic<uint64_t> moved_{0};

    // The monitor's own.
    int64_t looked_ns_ = 0;
    bool knows_usual_ = false;
    os::cpu_mask usual_;
};

// L3, if m, which is the calling M, on g0, was told to.
void move_now(M* m) noexcept;

[[gnu::always_inline]] inline void move_as_told(M* m) noexcept {
    if (m->move_to.load(relaxed) != os::no_cpu) [[unlikely]]  // relaxed: it matters when, not whether
        move_now(m);
}

}  // namespace weft::detail
