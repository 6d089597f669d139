// wake_list.h: waiters that are claimed under an object's lock, to be made ready once it is free.
//
// Thousands of them lie on as many stacks and are in no cache. Claiming one waits for its frame, which nothing can be done about,
// since only it knows the next; but what ready() is going to touch, its G, is fetched meanwhile.
//
// Who: whoever holds the object's lock, until wake().
#pragma once

#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "sched/chance.h"

namespace weft::detail {

class wake_list {
public:
    wake_list() = default;
    wake_list(const wake_list&) = delete;
    wake_list& operator=(const wake_list&) = delete;

    // w has been claimed and unlinked.
    void add(waiter& w) noexcept {
        if constexpr (!model_build) {
            const auto g = reinterpret_cast<uintptr_t>(static_cast<G*>(w.g));  // nullptr for a plain thread
            __builtin_prefetch(reinterpret_cast<const void*>(g), 1);
            __builtin_prefetch(reinterpret_cast<const void*>(g + cache_line), 1);
        }
        *link_ = &w;
        link_ = &w.next;
    }

    // Makes them all ready, in the order in which they were added (or, if RUN_DEBUG says so, in any). Holding no object lock.
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
