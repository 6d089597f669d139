// barrier.h: a number of parties that meet again and again: nobody goes on before the last has come.
//
// Names and meaning are those of the standard's barrier. A phase ends when as many have arrived as are expected: the last one calls
// the completion function, on its own stack and with no lock held, then the next phase begins and all who wait go on.
// Arriving is a short lock, for the count of a phase does not share a word with it. Waiting is a join and no cancellation point: a
// party that went away would leave the others there for ever.
//
// The barrier may be destroyed as soon as every wait of the last phase has returned: the number of the phase and the lock share one
// word, and the last to arrive touches nothing after the store that begins the next phase. More arrivals than are expected, and
// destroying a barrier that is waited for, are fatal errors.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty.
//             I2. Whoever is in the queue waits for the end of the current phase.
// Ordering:   R1 (the store that begins a phase) pairs with A1 (a wait reads its number). Arrivals are ordered by the lock: what was
//             done before arriving is visible to the completion, and what that did after waiting.
// Who:        any thread.
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

// A barrier was to expect so many.
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
        // relaxed: whoever destroys it has synchronised with its users
        if ((state_.word().load(relaxed) & (waiting | guarded_word::guard)) != 0) check_destroyed();
    }

    // What an arrival has led to.
    struct arrived {
        uint32_t phase;  // the phase that was arrived in
        bool last;       // all have come: the caller has to call the completion function, and then complete()
    };

    // n more have come. Fatal if that is not at least one and at most as many as are missing.
    [[nodiscard]] arrived arrive(std::ptrdiff_t n) noexcept;

    // One more has come and waits for the others. Returns true at once if it is the last: as arrive().
    [[nodiscard]] bool arrive_and_wait() noexcept;

    // One more has come, who will not be expected in later phases.
    [[nodiscard]] arrived arrive_and_drop() noexcept;

    // Begins the next phase and wakes all who wait.
    void complete() noexcept;

    // Blocks until phase is over.
    void wait(uint32_t phase) noexcept {
        if (state_.word().load(acquire) >> shift == phase) wait_slow(phase);  // A1
    }

private:
    static constexpr uint32_t waiting = 2;
    static constexpr uint32_t shift = 2;
    static constexpr uint32_t one = 1U << shift;

    // n have come, with the lock held and the word's bits bits. True: they were the last.
    bool take_locked(std::ptrdiff_t n, uint32_t bits) noexcept;
    void wait_slow(uint32_t phase) noexcept;
    void check_destroyed() noexcept;

    guarded_word state_;                // the number of the phase
    wait_queue waiters_;                // guarded by state_, as all below
    guarded<std::ptrdiff_t> missing_;   // in this phase
    guarded<std::ptrdiff_t> expected_;  // in the next
};

struct no_completion {
    void operator()() const noexcept {}
};

}  // namespace detail

// CompletionFunction is called without arguments and must not throw.
template <typename CompletionFunction = detail::no_completion>
class barrier {
    static_assert(std::is_nothrow_invocable_v<CompletionFunction&>,
                  "a weft::barrier's completion function must be noexcept");

public:
    // That somebody has arrived, and in which phase.
    class arrival_token {
    public:
        arrival_token(arrival_token&&) = default;
        arrival_token& operator=(arrival_token&&) = default;

    private:
        friend barrier;

        explicit arrival_token(uint32_t phase) noexcept : phase_(phase) {}

        uint32_t phase_;
    };

    // How many can be expected.
    [[nodiscard]] static constexpr std::ptrdiff_t(max)() noexcept { return detail::barrier_core::max_count; }

    // Fatal if expected is negative or above max().
    constexpr explicit barrier(std::ptrdiff_t expected, CompletionFunction f = CompletionFunction())
        : completion_(std::move(f)), core_(expected) {}

    // Arrives n times, without waiting. Fatal if n is below one, or if fewer are missing in this phase.
    [[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1) {
        const detail::barrier_core::arrived a = core_.arrive(n);
        if (a.last) complete();
        return arrival_token(a.phase);
    }

    // Blocks until the phase of token is over. That must be the current one or the one before it.
    void wait(arrival_token&& token) const { core_.wait(token.phase_); }

    // wait(arrive()).
    void arrive_and_wait() {
        if (core_.arrive_and_wait()) complete();
    }

    // Arrives, and from the next phase on is not expected any more.
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
