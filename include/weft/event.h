// event.h: a flag that can be waited for: set() lets through all who wait and all who come, until reset().
//
// (Elsewhere known as a manual-reset event.) wait() returns once the event has been set while it waited, even if it was reset
// since. set and reset are one compare-exchange each while nobody waits, and both always order: what was done before set() is
// visible after a wait() that it ended, and after a reset() that took it back. So a consumer that resets the event, looks whether
// there is work, and waits if there is none, misses nothing.
//
// The event may be destroyed as soon as every wait has returned: flag, lock and "somebody waits" share one word, and set()
// touches nothing after the store that sets the flag. Destroying it while somebody waits is a fatal error. The waits are cancellation
// points.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty (a waiter whose time was up may leave it set).
//             I2. While bit set is set, the queue holds only waiters that something else has claimed.
//             I3. After the store that sets the bit, set() does not touch the event.
// Ordering:   R1 (set) pairs with A1 (a wait, is_set, or reset).
// Who:        any thread.
// See:        docs/latch_barrier_event.md
#pragma once

#include <chrono>
#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/time_point.h>
#include <weft/detail/wait.h>

namespace weft {

class event;

namespace detail {

// An event, for whoever waits for more than one thing at a time: it takes the lock of word, looks at bit set, and joins waiters with
// a claim, leaving bit waiting set. Whoever was served has been unlinked and has ok set.
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
        // relaxed: whoever destroys it has synchronised with its users
        const uint32_t bits = core_.word.word().load(detail::relaxed);
        if ((bits & (detail::event_core::waiting | detail::guarded_word::guard)) != 0) check_destroyed();
    }

    // From now on nobody waits. All who do are woken. The event may be gone when this returns.
    void set() noexcept {
        uint32_t seen = core_.word.word().load(detail::relaxed);  // relaxed: the exchange decides
        const bool plain = (seen & (detail::event_core::waiting | detail::guarded_word::guard)) == 0;
        // R1; also if the bit is set already
        if (!plain || !core_.word.word().compare_exchange_strong(seen, detail::event_core::set, detail::release,
                                                                 detail::relaxed)) {
            set_slow();
        }
    }

    // From now on whoever comes waits.
    void reset() noexcept {
        uint32_t seen = core_.word.word().load(detail::relaxed);  // relaxed: the exchange decides
        const bool plain = (seen & detail::guarded_word::guard) == 0;
        // A1; also if the bit is clear already
        if (!plain || !core_.word.word().compare_exchange_strong(seen, seen & ~detail::event_core::set, detail::acquire,
                                                                 detail::relaxed)) {
            reset_slow();
        }
    }

    // Whether it is set at this moment.
    [[nodiscard]] bool is_set() const noexcept {
        return (core_.word.word().load(detail::acquire) & detail::event_core::set) != 0;  // A1
    }

    // Blocks until the event is set. A cancellation point where it waits: throws weft::cancelled or weft::timed_out.
    void wait() {
        if (!is_set()) wait_until_ns(detail::never);
    }

    // As wait(), but returns false if the time is up first.
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
