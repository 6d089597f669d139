// barrier.h: a number of parties that meet repeatedly; none continues before the last has arrived.
//
// Names and semantics are those of the standard. A phase ends when the expected number of parties
// has arrived. The last one calls the completion function on its own stack, with no lock held; then
// the next phase begins and all waiters continue. Arriving takes a lock briefly, because the count
// does not share a word with it. Waiting is a join, not a cancellation point: a party that left
// would block the others for ever.
//
// The barrier may be destroyed as soon as every wait of the last phase has returned. Phase number
// and lock share one word, and the last arrival accesses nothing after the store that begins the
// next phase. Fatal: more arrivals than expected, and destroying a barrier with waiters.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty.
//             I2. Every queued waiter waits for the end of the current phase.
// Ordering:   R1 (the store that begins a phase) pairs with A1 (a wait reads its number). The lock
//             orders arrivals: what happened before arriving is visible to the completion, and the
//             completion's effects after waiting.
// Threads:    any thread.
// See:        docs/latch_barrier_event.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

namespace weft {

namespace detail {

// Reports a barrier constructed with a count that it cannot hold.
[[noreturn]] void fatal_barrier_count(int64_t expected) noexcept;

// The barrier without its completion function.
class barrier_core {
public:
    static constexpr std::ptrdiff_t max_count = (1 << 30) - 1;

    // Fatal if expected is negative or above max_count.
    WEFT_CONSTEXPR explicit barrier_core(std::ptrdiff_t expected) noexcept : missing_(expected), expected_(expected) {
        if (expected < 0 || expected > max_count) fatal_barrier_count(expected);
    }

    barrier_core(const barrier_core&) = delete;
    barrier_core& operator=(const barrier_core&) = delete;

    ~barrier_core() {
        if ((state_.word().load(relaxed_alone) & (waiting | guarded_word::guard)) != 0) check_destroyed();
    }

    // Result of an arrival.
    struct arrived {
        uint32_t phase;  // the phase of the arrival
        bool last;       // all have arrived: the caller must call the completion function, then complete()
    };

    // Adds n arrivals. Fatal unless n is at least one and at most the number missing.
    [[nodiscard]] arrived arrive(std::ptrdiff_t n) noexcept;

    // Adds one arrival and waits for the others. Returns true at once if it is the last: then as
    // after arrive().
    [[nodiscard]] bool arrive_and_wait() noexcept;

    // Adds one arrival, which later phases do not expect.
    [[nodiscard]] arrived arrive_and_drop() noexcept;

    // Begins the next phase and wakes all waiters.
    void complete() noexcept;

    // Blocks until phase is over.
    void wait(uint32_t phase) noexcept {
        if (state_.word().load(acquire) >> shift == phase) wait_slow(phase);  // A1
    }

private:
    static constexpr uint32_t waiting = 2;
    static constexpr uint32_t shift = 2;
    static constexpr uint32_t one = 1U << shift;

    // Adds n arrivals; the caller holds the lock, bits are the word's bits. Returns true if they
    // were the last.
    bool take_locked(std::ptrdiff_t n, uint32_t bits) noexcept WEFT_REQUIRES(state_);
    void wait_slow(uint32_t phase) noexcept;
    void check_destroyed() noexcept;

    guarded_word state_;                // the number of the phase
    wait_queue waiters_;                // guarded by state_, like all members below
    guarded<std::ptrdiff_t> missing_;   // in this phase
    guarded<std::ptrdiff_t> expected_;  // in the next
};

struct no_completion {
    void operator()() const noexcept {}
};

}  // namespace detail

/// CompletionFunction takes no arguments and must not throw.
template <typename CompletionFunction = detail::no_completion>
class barrier {
    static_assert(std::is_nothrow_invocable_v<CompletionFunction&>,
                  "weft::barrier: the completion function must be noexcept");

public:
    /// Proof of an arrival, and its phase.
    class injected_token {
    public:
        injected_token(injected_token&&) = default;
        injected_token& operator=(injected_token&&) = default;

    private:
        friend barrier;

        explicit injected_token(uint32_t phase) noexcept : phase_(phase) {}

        uint32_t phase_;
    };

    /// The largest expected number.
    [[nodiscard]] static constexpr std::ptrdiff_t(max)() noexcept { return detail::barrier_core::max_count; }

    /// Fatal if expected is negative or above max().
    constexpr explicit barrier(std::ptrdiff_t expected, CompletionFunction f = CompletionFunction())
        : completion_(std::move(f)), core_(expected) {}

    /// Arrives n times without waiting. Fatal if n is below one, or if fewer are missing in this
    /// phase.
    [[nodiscard]] injected_token arrive(std::ptrdiff_t n = 1) {
        const detail::barrier_core::arrived a = core_.arrive(n);
        if (a.last) complete();
        return injected_token(a.phase);
    }

    /// Blocks until the phase of token is over. It must be the current phase or the one before.
    void wait(injected_token&& token) const { core_.wait(token.phase_); }

    /// wait(arrive()).
    void arrive_and_wait() {
        if (core_.arrive_and_wait()) complete();
    }

    /// Arrives, and leaves the barrier: later phases expect one party less.
    void arrive_and_drop() {
        if (core_.arrive_and_drop().last) complete();
    }

private:
    void complete() {
        completion_();
        core_.complete();
    }

    [[no_unique_address]] CompletionFunction completion_;
    mutable detail::barrier_core core_;
};

}  // namespace weft
