// call_permits.h: how many blocking calls may run at once where threads are scarce (blocking.h).
//
// A counting semaphore whose size follows the number of Ps. Growth frees places at once. Shrinking
// takes free places; calls pay the rest, a debt, when they end.
//
// Rejected: A fixed size. A change of Ps could leave too many places, or none.
// Rejected: Counting calls against Ps. That needs a queue of its own.
//
// Invariant: places free + in use - debt == the first number + all changes, except during a change
//            or end.
// Threads:   change: the thread that changes the number of Ps; the rest: green threads.
// See:       docs/runtime.md
#pragma once

#include <cstddef>

#include <weft/semaphore.h>

#include "base/atomic.h"

namespace weft::detail {

class call_permits {
public:
    explicit call_permits(std::ptrdiff_t places) noexcept : free_(places) {}

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
            debt_.fetch_add(1, relaxed);  // relaxed: a count. If a place has come free since, the next call pays
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
