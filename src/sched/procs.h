// procs.h: the Ps of a runtime, and changing how many of them there are while it runs.
//
// The problem. A container's CPU quota changes, or a program knows better than the default. Go stops the world for it. But every P has a
// holder who can be asked, or, if it does not answer, be relieved of it: the same as for a P whose time slice is over.
//
// Ps lie in one range of addresses that is reserved for the most there may be, and are made when they are first needed; so who has a
// pointer to a P, or an index, can always use it. Those below in_use() are used; one at or above it is on its way out or dead. P 0 never is.
//
//   more    Ps that are dead, or were never made, become idle; somebody is woken if there is work
//   fewer   in_use() is lowered first. Then each P that is one too many goes, by the hands of who has it:
//             an idle one       whoever changes the number takes it off the list
//             a running one     is asked (attention::preempt), and its M, next on g0, sees that its P is one too many
//             one whose M is    is retaken by the monitor: retake.h
//             outside
//           who has it empties it: its Gs go to the global queue, its timers to P 0, its caches to the pools. Then it is dead.
//
//      idle ◀──▶ running          live, below in_use()
//        │          │
//        ▼          ▼
//       dead ◀── stopped          too many: being emptied, belongs to who does that
//        │
//        └──▶ idle                when they are needed again
//
// Timers. Others than the owner add timers to a P: plain threads, and Ms that have lost theirs. The queue of a dead P is closed, which they see
// under its lock; then they take P 0's. A timer that moves changes its home under both queues' locks.
//
// Rejected. Stopping all Ms at a barrier (as long as the slowest system call). Leaving the timers where they are and having others look at
// them (a look more for each schedule). Freeing dead Ps (thieves look at them without a lock).
//
// Invariants: I1. A dead P has no G, no timer, no cache, no owner, and is on no list.
//             I2. alive() counts the Ps that are not dead; it is in_use() once a change is over.
//             I3. Every P that is not dead has an index below reach().
// Locks:      changing, then idle.lock; timer queues: a dying P's, then P 0's.
// See:        docs/runtime.md, test/model/procs.pml
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <weft/detail/spin_lock.h>

#include "base/atomic.h"

namespace weft::detail {

struct M;
struct P;
struct scheduler;

inline constexpr uint32_t procs_max = 1024;

// The order in which a thief goes round n Ps: from anywhere, with any stride that is coprime to n, each is met once.
struct stealing_order {
    uint32_t n = 0;
    uint32_t count = 0;
    std::unique_ptr<uint32_t[]> strides;
};

enum class procs_by : uint8_t;

class processors {
public:
    // n of them, idle. Throws std::bad_alloc.
    explicit processors(uint32_t n);
    ~processors();
    processors(const processors&) = delete;
    processors& operator=(const processors&) = delete;

    [[nodiscard]] P& operator[](uint32_t index) const noexcept;

    // How many are to run, 1 to procs_max.
    [[nodiscard]] uint32_t in_use() const noexcept { return in_use_.load(acquire); }  // pairs with change_procs

    // All that are not dead have a lower index.
    [[nodiscard]] uint32_t reach() const noexcept { return reach_.load(acquire); }  // pairs with set_reach

    // All that ever were, for counters.
    [[nodiscard]] uint32_t made() const noexcept { return made_.load(acquire); }  // pairs with make_up_to

    // Those that are not dead. Exact under idle.lock.
    [[nodiscard]] uint32_t alive() const noexcept { return alive_.load(relaxed); }  // relaxed: a look

    [[nodiscard]] const stealing_order& order() const noexcept {
        return *order_.load(acquire);  // pairs with set_reach
    }

    // Whether p is to go, or gone.
    [[nodiscard]] bool is_one_too_many(const P& p) const noexcept;

private:
    friend void change_procs(scheduler& s, uint32_t n, procs_by who);
    friend void bury_p(scheduler& s, P& p) noexcept;

    [[nodiscard]] int make_up_to(uint32_t n) noexcept;
    void set_reach(uint32_t n) noexcept;
    void free_all() noexcept;

    P* at_ = nullptr;
    std::size_t committed_ = 0;  // written under changing_, as the next two
    atomic<uint32_t> in_use_{0};
    atomic<uint32_t> made_{0};
    atomic<uint32_t> reach_{0};  // written under idle.lock, like what follows
    atomic<uint32_t> alive_{0};
    atomic<const stealing_order*> order_{nullptr};
    std::unique_ptr<stealing_order> orders_[procs_max + 1];  // made when first needed; written under both locks
    spin_lock changing_;
};

// Who says how many Ps there are to be: somebody, for good; somebody who wants the usual number, also when that changes; or the monitor, because
// it has changed, which only counts while nobody has said something else.
enum class procs_by : uint8_t { request, request_to_follow, monitor };

// From now on there are n Ps, 1 to procs_max; those that are too many go in their own time. Any thread that has pinned s, or a G of it.
// Throws std::bad_alloc or resource_exhausted, with nothing changed.
void change_procs(scheduler& s, uint32_t n, procs_by who);

// As change_procs, and waits until it is so.
void change_procs_and_wait(scheduler& s, uint32_t n, procs_by who);

// What is queued on p, which is the caller's, goes to the scheduler's queues. Nobody is woken.
void move_gs(scheduler& s, P& p) noexcept;

// p is one too many and belongs to the caller alone, on no list and without an owner: empties it, and it is dead.
void bury_p(scheduler& s, P& p) noexcept;

// Those that are idle although they are too many: who put them there could not bury them.
void bury_idle_surplus(scheduler& s) noexcept;

// m, on g0, holds a P that is one too many: gives it up. Returns with another one, or without one if the scheduler is stopping.
void give_up_surplus_p(scheduler& s, M* m) noexcept;

}  // namespace weft::detail
