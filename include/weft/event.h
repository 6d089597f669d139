// event.h: a flag to wait for: set() releases all current and later waiters, until reset().
//
// Also known as a manual-reset event. wait() returns if the event was set during the wait, even if
// it has been reset since. Without waiters set and reset are one compare-exchange each. Both always
// order memory: what happened before set() is visible after a wait() that it ended, and after a
// reset() that cleared it. So a consumer that resets the event, checks for work, and otherwise
// waits, misses nothing.
//
// The event may be destroyed as soon as every wait has returned. Flag, lock and waiting bit share
// one word, and set() accesses nothing after the store that sets the flag. Destroying an event with
// waiters is fatal. The waits are cancellation points.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty (a waiter that timed out may
//                 leave it set).
//             I2. While bit set is set, the queue holds only waiters that something else has
//                 claimed.
//             I3. After the store that sets the bit, set() does not access the event.
// Ordering:   R1 (set) pairs with A1 (a wait, is_set, or reset).
// Threads:    any thread.
// See:        docs/latch_barrier_event.md
#pragma once

#include <chrono>
#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/step.h>
#include <weft/detail/time_point.h>
#include <weft/detail/wait.h>

namespace weft {

class event;

namespace detail {

// For a wait on several objects: it takes the lock of word, checks bit set, joins waiters with a
// claim, and leaves bit waiting set. A waiter that was served has been unlinked and has ok set.
struct event_core {
    static constexpr uint32_t set = 2;
    static constexpr uint32_t waiting = 4;

    guarded_word word;
    wait_queue waiters;  // guarded by word
};

[[nodiscard]] event_core& core_of(event& e) noexcept;

}  // namespace detail

class event {
public:
    event() = default;
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    ~event() {
        const uint32_t bits = core_.word.word().load(detail::relaxed_alone);
        if ((bits & (detail::event_core::waiting | detail::guarded_word::guard)) != 0) check_destroyed();
    }

    /// Sets the event and wakes all waiters. The event may be gone when this returns.
    void set() noexcept {
        detail::step(detail::operation::event_set, this);
        uint32_t seen = core_.word.word().load(detail::relaxed_cas);
        const bool plain = (seen & (detail::event_core::waiting | detail::guarded_word::guard)) == 0;
        // R1; also if the bit is set already
        if (!plain || !core_.word.word().compare_exchange_strong(seen, detail::event_core::set, detail::release,
                                                                 detail::relaxed)) {
            set_slow();
        }
    }

    /// Clears the event: later waits block.
    void reset() noexcept {
        detail::step(detail::operation::event_set, this);
        uint32_t seen = core_.word.word().load(detail::relaxed_cas);
        const bool plain = (seen & detail::guarded_word::guard) == 0;
        // A1; also if the bit is clear already
        if (!plain || !core_.word.word().compare_exchange_strong(seen, seen & ~detail::event_core::set, detail::acquire,
                                                                 detail::relaxed)) {
            reset_slow();
        }
    }

    /// Returns whether the event is currently set.
    [[nodiscard]] bool is_set() const noexcept {
        detail::step(detail::operation::event_wait, this);
        return (core_.word.word().load(detail::acquire) & detail::event_core::set) != 0;  // A1
    }

    /// Blocks until the event is set. A cancellation point where it waits: throws weft::cancelled
    /// or weft::timed_out.
    void wait() {
        if (!is_set()) wait_until_ns(detail::never);
    }

    /// As wait(), but returns false on timeout.
    template <typename Rep, typename Period>
    [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> timeout) {
        return is_set() || wait_until_ns(detail::deadline_after(timeout));
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] bool wait_until(std::chrono::time_point<Clock, Duration> when) {
        return is_set() || wait_until_ns(detail::deadline_at(when));
    }

private:
    friend detail::event_core& detail::core_of(event& e) noexcept;

    void set_slow() noexcept;
    void reset_slow() noexcept;
    bool wait_until_ns(int64_t deadline_ns);
    void check_destroyed() noexcept;

    mutable detail::event_core core_;
};

inline detail::event_core& detail::core_of(event& e) noexcept { return e.core_; }

}  // namespace weft
