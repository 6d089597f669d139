// semaphore_core.h: the semaphore for any max(): count, lock and a "has waiters" bit in one word.
//
// Without waiters, taking and giving a unit are one compare-exchange each. With waiters, a given
// unit is handed to the oldest waiter and never enters the count.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty (a waiter that timed out may
//                 leave it set).
//             I2. While the count is above zero, the queue holds only waiters that were claimed by
//                 something else.
//             I3. give() does not touch the object after the store that releases a waiter.
// Ordering:   R1 (a unit is given, or handed over) pairs with A1 (it is taken).
// Threads:    any thread.
// See:        docs/semaphore.md, test/model/semaphore_model.cc
#pragma once

#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/step.h>
#include <weft/detail/wait.h>

namespace weft::detail {

// Fatal: the initial count is below zero or above max.
[[noreturn]] void fatal_semaphore_count(int64_t count, int64_t max) noexcept;

// The semaphore of any max().
class semaphore_core {
public:
    static constexpr uint32_t max_count = (1U << 30) - 1;

    WEFT_CONSTEXPR explicit semaphore_core(uint32_t count) noexcept : state_(count << shift) {}

    semaphore_core(const semaphore_core&) = delete;
    semaphore_core& operator=(const semaphore_core&) = delete;

    ~semaphore_core() {
        // relaxed: the destroying thread has synchronised with the semaphore's users
        if ((state_.word().load(relaxed) & (waiting | guarded_word::guard)) != 0) check_destroyed();
    }

    // Takes a unit if there is one.
    [[nodiscard]] bool try_take() noexcept {
        step(operation::semaphore_acquire, this);
        uint32_t seen = state_.word().load(relaxed_cas);
        while (seen >= one) {
            if ((seen & guarded_word::guard) != 0) return try_take_guarded();
            if (state_.word().compare_exchange_weak(seen, seen - one, acquire, relaxed)) return true;  // A1
        }
        return false;
    }

    // Takes a unit, waiting for one until deadline_ns. Returns false on timeout. Throws if the
    // caller is cancelled.
    bool take(int64_t deadline_ns);

    // Adds n units.
    void give(int64_t n, int64_t max) noexcept {
        step(operation::semaphore_release, this);
        uint32_t seen = state_.word().load(relaxed_cas);
        const bool plain = (seen & (guarded_word::guard | waiting)) == 0 && n >= 0 && n <= max - int64_t{seen >> shift};
        const uint32_t more = seen + one * static_cast<uint32_t>(n);
        // R1
        if (!plain || !state_.word().compare_exchange_strong(seen, more, release, relaxed)) give_slow(n, max);
    }

private:
    static constexpr uint32_t waiting = 2;
    static constexpr uint32_t shift = 2;
    static constexpr uint32_t one = 1U << shift;

    [[nodiscard]] bool try_take_guarded() noexcept;
    void give_slow(int64_t n, int64_t max) noexcept;
    void check_destroyed() noexcept;

    guarded_word state_;
    wait_queue waiters_;  // guarded by state_
};

}  // namespace weft::detail
