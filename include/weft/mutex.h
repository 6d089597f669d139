// mutex.h: mutual exclusion for green threads and plain threads.
//
// Uncontended, lock and unlock are one atomic each. A contended lock parks the green thread (or
// blocks the plain thread), never the M.
//
// In normal mode whichever thread comes first takes a freed mutex, which keeps it on the core that
// uses it. A waiter that has waited for more than 1 ms switches to starvation mode, with hand-offs
// in queue order. This ends when a waiter gets the mutex in less than 1 ms or is the last, as in
// Go's sync.Mutex.
//
// Works with std::unique_lock, std::scoped_lock, std::lock_guard. Not recursive. Another green
// thread than its holder may unlock it. It may be destroyed as soon as the last unlock has been
// called. Fatal: unlocking an unlocked mutex, destroying a locked one. lock() is not a cancellation
// point; timed_mutex.h has forms with a deadline.
//
// Invariants: I1. Bit waiting is set whenever the queue is not empty (abandoned waiters may leave
//                 it set).
//             I2. Bit woken is set while one woken waiter is about to compete; no other is woken
//                 until then.
//             I3. Bit starving implies locked or a hand-off in flight: newcomers never take a
//                 starving mutex.
// See:        docs/mutex.md, test/model/mutex_model.cc
#pragma once

#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/inheritance.h>
#include <weft/detail/require.h>
#include <weft/detail/step.h>
#include <weft/detail/wait.h>

namespace weft {

namespace detail {
class condition_core;
}

class mutex {
public:
    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    ~mutex() {
        check_destroyed("weft::mutex");
        detail::lock_ends(this);
    }

    /// Any thread. Blocks until the caller holds the mutex.
    void lock() noexcept {
        detail::step(detail::operation::mutex_lock, this);
        uint32_t seen = 0;
        if (!state_.word().compare_exchange_strong(seen, locked, detail::acquire, detail::relaxed)) lock_slow();  // A1
        if (detail::classes_in_use()) [[unlikely]]
            took();
    }

    /// Any thread. Never blocks; fails while the mutex is locked or has queued waiters.
    [[nodiscard]] bool try_lock() noexcept {
        detail::step(detail::operation::mutex_try_lock, this);
        uint32_t seen = 0;
        const bool ours = state_.word().compare_exchange_strong(seen, locked, detail::acquire, detail::relaxed);  // A1
        if (ours && detail::classes_in_use()) [[unlikely]]
            took();
        return ours;
    }

    /// Caller: the holder of the lock.
    void unlock() noexcept {
        detail::step(detail::operation::mutex_unlock, this);
        unlock_now();
    }

private:
    friend class detail::condition_core;
    friend class timed_mutex;
    friend class recursive_mutex;

    static constexpr uint32_t locked = 2;
    static constexpr uint32_t woken = 4;
    static constexpr uint32_t starving = 8;
    static constexpr uint32_t waiting = 16;
    // A waiter of that class has come since waiting was last clear; see src/per_g/inheritance.h.
    static constexpr uint32_t high_waits = 32;
    static constexpr uint32_t normal_waits = 64;
    static constexpr uint32_t recorded = 128;                                  // holder_ is known
    static constexpr uint32_t of_queue = waiting | high_waits | normal_waits;  // cleared with the last waiter

    // unlock() without the step, for callers with a lock of the runtime.
    void unlock_now() noexcept {
        uint32_t seen = locked;
        if (!state_.word().compare_exchange_strong(seen, 0, detail::release, detail::relaxed))
            unlock_slow();  // R1 to A1
    }

    void lock_slow() noexcept;
    void unlock_slow() noexcept;

    // For green threads of several priority classes, see src/per_g/inheritance.h.
    void took() noexcept;
    void gives() noexcept;
    [[nodiscard]] uint32_t lend_to_holder() noexcept;
    static void waits_no_longer() noexcept;
    [[nodiscard]] uint32_t hand_to(const detail::waiter& w, uint32_t bits) noexcept;
    static void lend_for(uint32_t holder, uint32_t bits, uint32_t passed) noexcept;

    // Returns false if deadline_ns has passed. A cancellation point.
    [[nodiscard]] bool lock_until(int64_t deadline_ns);

    template <bool interruptible>
    detail::wait_result contend(int64_t deadline_ns) noexcept;
    void give_up() noexcept;
    static void pass_on(detail::lock_waiter& w, bool served) noexcept;

    // Fatal, naming the object as what, unless no thread can use it any longer.
    void check_destroyed(const char* what) noexcept {
        if (state_.word().load(detail::relaxed_alone) != 0) [[unlikely]]
            destroyed_in_use(what);
    }

    void destroyed_in_use(const char* what) noexcept;

    detail::guarded_word state_;          // the bits above, and the lock of waiters_
    detail::atomic<uint32_t> holder_{0};  // see src/per_g/inheritance.h; with recorded: a valid handle
    detail::wait_queue waiters_;          // guarded by state_
};

}  // namespace weft
