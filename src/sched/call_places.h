// call_places.h: how many declared blocking calls may go on at once where threads are scarce.
//
// A counting semaphore whose size follows the number of Ps: see blocking.h for what the places are for. More places are given
// out at once. Fewer are taken from those that are free; for the others there is a debt, and calls that end pay it with their places.
//
// Rejected. A semaphore of a fixed size: with fewer Ps than at first there would be more places than threads, or with more Ps none.
// Counting calls against the present number of Ps: a queue of waiters of its own.
//
// Invariant: places free + in use - debt == the sum of all changes, but for a change or an end that is going on.
// Who:       change by who changes the number of Ps; the rest by green threads.
// See:       docs/runtime.md
#pragma once

#include <cstddef>

#include <weft/semaphore.h>

#include "base/atomic.h"

namespace weft::detail {

class call_places {
public:
    explicit call_places(std::ptrdiff_t places) noexcept : free_(places) {}

    [[nodiscard]] bool try_acquire() noexcept { return free_.try_acquire(); }

    void acquire() { free_.acquire(); }

    void release() noexcept {
        if (!pay()) free_.release();
    }

    void change(std::ptrdiff_t by) noexcept {
        while (by > 0 && pay()) --by;
        if (by > 0) free_.release(by);
        for (; by < 0; ++by) {
            if (free_.try_acquire()) continue;
            debt_.fetch_add(1, relaxed);  // relaxed: a count. If a place has come free meanwhile, the next one pays
        }
    }

private:
    bool pay() noexcept {
        std::ptrdiff_t owed = debt_.load(relaxed);  // relaxed: a count, as below
        while (owed != 0) {
            if (debt_.compare_exchange_weak(owed, owed - 1, relaxed, relaxed)) return true;  // relaxed: as above
        }
        return false;
    }

    counting_semaphore<> free_;
    atomic<std::ptrdiff_t> debt_{0};
};

}  // namespace weft::detail
