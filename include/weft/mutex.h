// mutex.h: mutual exclusion for green threads and plain threads alike.
//
// lock and unlock are one atomic each when nobody contends. A contended lock parks the green thread (or blocks the plain
// thread), never the M. In normal mode whoever comes first takes a freed mutex, which keeps it on the core that is using
// it; a waiter that has waited for more than 1 ms switches the mutex to starvation mode, where it is handed over in
// queue order until a waiter got it in less than 1 ms or is the last. This follows Go's sync.Mutex.
//
// Works with std::unique_lock, std::scoped_lock, std::lock_guard. Not recursive. It may be unlocked by another green thread
// than the one that locked it, and destroyed as soon as the last unlock has been called. Unlocking an unlocked
// mutex, or destroying a locked one, is a fatal error. lock() is not a cancellation point.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty (abandoned waiters may leave it set).
//             I2. Bit woken is set while one woken waiter is on its way to compete; no other is woken meanwhile.
//             I3. Bit starving implies locked or a hand-over in flight: newcomers never take a starving mutex.
// See:        docs/mutex.md, test/model/mutex_model.cc
#pragma once

#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/wait.h>

namespace weft {

class mutex {
public:
    mutex() = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    ~mutex();

    // Any thread. Blocks until the mutex is ours.
    void lock() noexcept {
        uint32_t seen = 0;
        if (!state_.word().compare_exchange_strong(seen, locked, detail::acquire, detail::relaxed)) lock_slow();  // A1
    }

    // Any thread. Never blocks; fails while the mutex is locked or waiters are queued for it.
    [[nodiscard]] bool try_lock() noexcept {
        uint32_t seen = 0;
        return state_.word().compare_exchange_strong(seen, locked, detail::acquire, detail::relaxed);  // A1
    }

    // Whoever holds the lock.
    void unlock() noexcept {
        uint32_t seen = locked;
        if (!state_.word().compare_exchange_strong(seen, 0, detail::release, detail::relaxed))
            unlock_slow();  // R1 to A1
    }

private:
    static constexpr uint32_t locked = 2;
    static constexpr uint32_t woken = 4;
    static constexpr uint32_t starving = 8;
    static constexpr uint32_t waiting = 16;

    void lock_slow() noexcept;
    void unlock_slow() noexcept;
    friend void detail::mutex_wait_abandoned(detail::waiter& w) noexcept;

    detail::guarded_word state_;  // the bits above, and the lock of waiters_
    detail::wait_queue waiters_;  // guarded by state_
};

}  // namespace weft
