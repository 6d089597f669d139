// procs.h: the Ps of a runtime, and changes of their number while it runs.
//
// Ps are made when first needed and never freed, because thieves read them without a lock. Those
// below in_use() are used, P 0 always; the others are leaving or dead.
//
//   more    dead or new Ps become idle; an M is woken if there is work
//   fewer   in_use() is lowered first. Then each surplus P goes:
//             idle               the thread that changes the number takes it off the list
//             running            is asked (attention::preempt); its M sees it when next on g0
//             its M is outside   the monitor retakes it: retake.h
//           That thread empties it: Gs to the global queue, timers to P 0, caches to the pools.
//           Then it is dead.
//
//      idle ◀──▶ running          live, below in_use()
//        │          │
//        ▼          ▼
//       dead ◀── stopped          surplus: owned by the thread that empties it
//        │
//        └──▶ idle                when needed again
//
// Plain threads and Ms without a P add timers to Ps too. The queue of a dead P is closed, which
// they see under its lock; they use P 0's.
//
// Rejected. A barrier for all Ms, as in Go: it lasts as long as the slowest system call. Leaving a
// dead P's timers to other Ps: a check in each schedule.
//
// Invariants: I1. A dead P has no G, timer, cache or owner, and is on no list.
//             I2. alive() counts the Ps that are not dead; after a change it equals in_use().
//             I3. Every P that is not dead has an index below reach().
// Locks:      changing_, then the idle lock; timer queues: a dying P's, then P 0's.
// See:        docs/runtime.md, test/model/procs.pml
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/atomic.h"
#include "base/ranked_lock.h"

namespace weft::detail {

struct M;
struct P;
struct scheduler;

inline constexpr uint32_t procs_max = 1024;

// A thief's order: from any start, a stride coprime to n meets each of n Ps once.
struct stealing_order {
    uint32_t n = 0;
    uint32_t count = 0;
    std::unique_ptr<uint32_t[]> strides;
};

enum class procs_by : uint8_t;

class processors {
public:
    // Throws resource_exhausted or std::bad_alloc.
    explicit processors(uint32_t n);
    ~processors();
    processors(const processors&) = delete;
    processors& operator=(const processors&) = delete;

    [[nodiscard]] P& operator[](uint32_t index) const noexcept;

    // The wanted number, 1 to procs_max.
    [[nodiscard]] uint32_t in_use() const noexcept { return in_use_.load(acquire); }  // pairs with change_procs

    // See I3.
    [[nodiscard]] uint32_t reach() const noexcept { return reach_.load(acquire); }  // pairs with set_reach

    // Includes dead Ps.
    [[nodiscard]] uint32_t made() const noexcept { return made_.load(acquire); }  // pairs with make_up_to

    // Exact under the idle lock.
    [[nodiscard]] uint32_t alive() const noexcept { return alive_.load(relaxed_hint); }

    [[nodiscard]] const stealing_order& order() const noexcept {
        return *order_.load(acquire);  // pairs with set_reach
    }

    [[nodiscard]] bool is_surplus(const P& p) const noexcept;

private:
    friend void change_procs(scheduler& s, uint32_t n, procs_by who);
    friend void retire_p(scheduler& s, P& p) noexcept;

    [[nodiscard]] int make_up_to(uint32_t n) noexcept;
    void set_reach(uint32_t n) noexcept;
    void free_all() noexcept;

    P* at_ = nullptr;
    std::size_t committed_ = 0;  // written under changing_, as the next two
    atomic<uint32_t> in_use_{0};
    atomic<uint32_t> made_{0};
    atomic<uint32_t> reach_{0};  // written under the idle lock, as all that follows
    atomic<uint32_t> alive_{0};
    atomic<const stealing_order*> order_{nullptr};
    std::unique_ptr<stealing_order> orders_[procs_max + 1];  // made when first needed; written under both locks
    ranked_lock<lock_rank::procs> changing_;
};

// The source of a number: a fixed request; a request to follow the usual number; such a change,
// which has no effect after a fixed request.
enum class procs_by : uint8_t { request, request_to_follow, monitor };

// Does not wait for surplus Ps. Any thread that has pinned s, or a G of s. Throws std::bad_alloc or
// resource_exhausted, without any change.
void change_procs(scheduler& s, uint32_t n, procs_by who);

// `wanted` or fewer, at least 1: a blocking call needs one more thread.
[[nodiscard]] uint32_t procs_within(uint32_t threads_max, uint32_t wanted) noexcept;

// Moves the Gs of p, which the caller owns, to the scheduler's queues. Wakes no M.
void move_gs(scheduler& s, P& p) noexcept;

// Empties p. Requires: p is surplus, on no list, without an owner, and the caller's alone.
void retire_p(scheduler& s, P& p) noexcept;

// Retires idle surplus Ps: the threads that made them idle could not.
void retire_idle_surplus(scheduler& s) noexcept;

// m is on g0. Returns with another P, or without one if the scheduler is stopping.
void give_up_surplus_p(scheduler& s, M* m) noexcept;

}  // namespace weft::detail
