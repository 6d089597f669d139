// shared_mutex.h: many readers or one writer, for green threads and plain threads.
//
// Neither side starves the other:
// - A writer that finds readers inside keeps new readers out, and gets the lock when they have
//   left.
// - When a writer unlocks, all waiting readers and one waiting writer are woken; the first to come
//   takes the lock.
// - After more than 1 ms a waiter does not compete. The next unlock of a writer lets in all waiting
//   readers, before the next writer. Writers get the lock in queue order, as with weft::mutex.
//
// Uncontended, each operation is one atomic on one word. When readers contend for it, they are
// counted in one cache line per processor, allocated on first need. The next writer closes these
// slots and adds them up; readers share the word again until they contend too often.
//
// Works with std::shared_lock, std::unique_lock, std::lock_guard, std::scoped_lock. Not recursive,
// not even shared: a reader that locks again waits for the writer that waits for it. Another thread
// than its holder may unlock it. It may be destroyed as soon as no thread holds it. Fatal:
// unlocking in a mode in which it is not locked, destroying one that is locked or waited for.
// lock() and lock_shared() are not cancellation points.
//
// Priority inheritance: waiting green threads, readers and writers, lend their class to the writer
// that holds the lock (weft/priority.h). Readers are not recorded and inherit nothing.
//
// Invariants: I1. Bit waiting is set whenever a queue is not empty (abandoned waiters may leave it
//                 set).
//             I2. Bit pending: readers are inside, and the first of writers_ gets the lock when
//                 they have left; new ones wait.
//             I3. If writers_ is not empty, writer, pending or woken is set; if readers_ is not
//                 empty, writer or pending.
//             I4. Bit spread excludes all others: no writer is inside or waits, and slots_ is open.
//             I5. Number of readers, at any time: count + those in slots_. A reader may enter by
//                 one and leave by another.
// Ordering:   R1 (unlock), R2 (unlock_shared) pair with A1 (lock); R1 pairs with A2 (lock_shared).
// See:        docs/shared_mutex.md, test/model/shared_mutex_model.cc
#pragma once

#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/inheritance.h>
#include <weft/detail/require.h>
#include <weft/detail/step.h>
#include <weft/detail/wait.h>

namespace weft {

class shared_mutex;

namespace detail {

class reader_slots;

// For reports: the handle (src/per_g/inheritance.h) of the writer that holds m; 0: none, a plain
// thread, or unknown.
[[nodiscard]] uint32_t writer_of(shared_mutex& m) noexcept;

}  // namespace detail

class shared_mutex {
public:
    constexpr shared_mutex() noexcept = default;
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;
    ~shared_mutex();

    /// Any thread. Blocks until the caller holds the lock exclusively.
    void lock() noexcept {
        detail::step(detail::operation::shared_mutex_lock, this);
        uint32_t seen = 0;
        if (!state_.word().compare_exchange_strong(seen, writer, detail::acquire, detail::relaxed)) lock_slow();  // A1
        if (detail::classes_in_use()) [[unlikely]]
            took();
    }

    /// Any thread. Never blocks; fails while another thread holds the lock or waits for it.
    [[nodiscard]] bool try_lock() noexcept {
        detail::step(detail::operation::shared_mutex_try_lock, this);
        uint32_t seen = 0;
        const bool ours =
            state_.word().compare_exchange_strong(seen, writer, detail::acquire, detail::relaxed) ||  // A1
            ((seen & spread) != 0 && try_lock_spread());
        if (ours && detail::classes_in_use()) [[unlikely]]
            took();
        return ours;
    }

    /// Caller: the thread that holds it exclusively.
    void unlock() noexcept {
        detail::step(detail::operation::shared_mutex_unlock, this);
        uint32_t seen = writer;
        if (detail::classes_in_use() ||
            !state_.word().compare_exchange_strong(seen, 0, detail::release, detail::relaxed)) {  // R1
            unlock_slow();
        }
    }

    /// Any thread. Blocks until the caller is a reader. Fatal beyond max_readers.
    void lock_shared() noexcept {
        detail::step(detail::operation::shared_mutex_lock_shared, this);
        if (!enter_quickly()) lock_shared_slow();
    }

    /// Any thread. Never blocks; fails while a writer holds the lock, or waits for readers to
    /// leave.
    [[nodiscard]] bool try_lock_shared() noexcept {
        detail::step(detail::operation::shared_mutex_try_lock_shared, this);
        return enter_quickly() || enter();
    }

    /// Caller: one of its readers.
    void unlock_shared() noexcept {
        detail::step(detail::operation::shared_mutex_unlock, this);
        uint32_t seen = state_.word().load(detail::relaxed_cas);
        const bool plain = (seen & flags) == 0 && seen >= reader;
        // R2; relaxed: tried again
        if (!plain || !state_.word().compare_exchange_strong(seen, seen - reader, detail::release, detail::relaxed)) {
            unlock_shared_slow();
        }
    }

    /// Maximum number of concurrent readers.
    static constexpr uint32_t max_readers = (1U << 24) - 1;

private:
    friend class shared_timed_mutex;
    friend struct spread_for_test;
    friend uint32_t detail::writer_of(shared_mutex& m) noexcept;

    static constexpr uint32_t writer = 2;     // Held exclusively.
    static constexpr uint32_t pending = 4;    // I2.
    static constexpr uint32_t woken = 8;      // A woken writer is about to compete; no other is woken until then.
    static constexpr uint32_t starving = 16;  // Newcomers never take it: writers get it in order.
    static constexpr uint32_t waiting = 32;   // I1.
    static constexpr uint32_t spread = 64;    // I4: readers are counted in slots_.
    // A reader has waited too long: the next writer's unlock lets all readers in, instead of waking
    // them.
    static constexpr uint32_t hungry = 128;
    static constexpr uint32_t flags = 255;  // All of these and the guard.
    static constexpr uint32_t shift = 8;
    static constexpr uint32_t reader = 1U << shift;  // One in the count of readers.
    static constexpr uint32_t too_many = 1U << 31;   // The count's last bit: only the slow path continues from here.

    // Counts one more reader; fails if that needs the slow path.
    bool enter_quickly() noexcept {
        uint32_t seen = state_.word().load(detail::relaxed_cas);
        return (seen & (flags | too_many)) == 0 &&
               // A2; relaxed: tried again
               state_.word().compare_exchange_strong(seen, seen + reader, detail::acquire, detail::relaxed);
    }

    void lock_slow() noexcept;
    bool try_lock_spread() noexcept;
    void unlock_slow() noexcept;

    // For green threads of several priority classes, see src/per_g/inheritance.h.
    void took() noexcept;
    void gives() noexcept;
    void lend_to_writer(uint32_t bits) noexcept;
    static void waits_no_longer() noexcept;
    void hand_to(const detail::waiter& w) noexcept;

    void lock_shared_slow() noexcept;
    void unlock_shared_slow() noexcept;

    // Return false if deadline_ns has passed. Cancellation points.
    [[nodiscard]] bool lock_until(int64_t deadline_ns);
    [[nodiscard]] bool lock_shared_until(int64_t deadline_ns);

    template <bool interruptible>
    detail::wait_result contend(int64_t deadline_ns) noexcept;
    template <bool interruptible>
    detail::wait_result contend_shared(int64_t deadline_ns) noexcept;
    bool enter() noexcept;
    void settle(uint32_t bits) noexcept WEFT_RELEASE(state_);
    void spread_readers() noexcept;
    uint32_t gather_readers(uint32_t bits) noexcept;
    void readers_collide() noexcept;
    static void pass_on(detail::lock_waiter& w, bool served) noexcept;
    static void pass_on_shared(detail::lock_waiter& w, bool served) noexcept;

    detail::guarded_word state_;          // the bits above, the count, and the lock of the members below
    detail::atomic<uint32_t> misses_{0};  // approximate number of reader collisions since the last writer
    // The writer, once classes are in use, and whether threads wait: see src/per_g/inheritance.h.
    detail::atomic<uint32_t> writer_{0};
    detail::wait_queue writers_;                            // guarded by state_
    detail::wait_queue readers_;                            // guarded by state_
    detail::atomic<detail::reader_slots*> slots_{nullptr};  // set once, under the guard
};

}  // namespace weft
