// wake_list.h: waiters claimed under an object's lock and made ready after its release.
//
// Claiming a waiter loads its uncached frame. At that time its G is prefetched for ready().
//
// Threads: the holder of the object's lock, until wake().
#pragma once

#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "sched/random.h"

namespace weft::detail {

class wake_list {
public:
    wake_list() = default;
    wake_list(const wake_list&) = delete;
    wake_list& operator=(const wake_list&) = delete;

    // Requires: w is claimed and unlinked.
    void add(waiter& w) noexcept {
        if constexpr (!model_build) {
            const auto g = reinterpret_cast<uintptr_t>(static_cast<G*>(w.g));  // nullptr: a plain thread
            __builtin_prefetch(reinterpret_cast<const void*>(g), 1);
            __builtin_prefetch(reinterpret_cast<const void*>(g + cache_line), 1);
        }
        *link_ = &w;
        link_ = &w.next;
    }

    // In order, or shuffled by RUN_DEBUG. Requires: no object lock is held.
    void wake() noexcept {
        *link_ = nullptr;
        waiter* first = first_;
        if constexpr (!model_build) {
            if (shuffles_wakes.load(relaxed)) [[unlikely]]  // relaxed: set once
                first = shuffled(first);
        }
        ready_all(first);
    }

private:
    guarded<waiter*> first_ = nullptr;
    guarded<waiter*>* link_ = &first_;
};

}  // namespace weft::detail
