// spin_lock.h: the lock of one object, such as a channel, held for a few dozen instructions.
//
// The lock is bit 0 of a word; the other 31 bits are the object's, owned by the lock's holder. So
// one plain store publishes the object's new state and releases the lock. Nothing is touched after
// it, so the object may be destroyed as soon as the store is visible. spin_lock is the variant
// without object bits.
//
// A holder never parks, allocates, or calls user code other than a nothrow move. One exception: a
// parking green thread hands the held lock to the next context on its M, which stores the word once
// the parked context is saved. Contending callers spin for a while and then yield to the operating
// system, because the holder may be a descheduled thread.
//
// Rejected: A futex lock. Its unlock needs a second atomic to learn of sleepers: 2 ns on every
//           channel operation.
// Rejected: A fair ticket lock. It moves the cache line to another core on every operation. Unfair
//           back-off lets one core run a burst, which makes a contended channel fast.
//
// Invariants: I1. While bit 0 is set only the holder writes the word. Other threads change it by
//                 compare-exchange from a value with bit 0 clear.
// Ordering:   R1 (unlock) pairs with A1 (lock).
// Threads:    any thread.
#pragma once

#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>
#include <weft/detail/thread_safety.h>

namespace weft::detail {

// Backs off for one round while another thread holds a lock for a few instructions. attempt counts
// from 0; later rounds yield to the operating system.
void spin_backoff(uint32_t attempt) noexcept;

class WEFT_LOCK_CLASS guarded_word {
public:
    static constexpr uint32_t guard = 1;

    guarded_word() = default;

    // Starts unlocked with these object bits.
    WEFT_CONSTEXPR explicit guarded_word(uint32_t bits) noexcept : word_(bits) {}

    // Takes the lock, waiting if necessary. Returns the object's bits.
    uint32_t lock_bits() noexcept WEFT_ACQUIRE() WEFT_NO_THREAD_SAFETY_ANALYSIS {
        uint32_t seen = word_.load(relaxed_cas);
        for (uint32_t attempt = 0;; ++attempt) {
            if ((seen & guard) == 0) {
                if (word_.compare_exchange_weak(seen, seen | guard, acquire, relaxed)) return seen;  // A1
            } else {
                spin_backoff(attempt);
                seen = word_.load(relaxed_cas);
            }
        }
    }

    // Releases the lock and sets the object's bits, in one store. Requires: the lock is held, and
    // bit 0 of bits is clear.
    void unlock_bits(uint32_t bits) noexcept WEFT_RELEASE() WEFT_NO_THREAD_SAFETY_ANALYSIS {
        word_.store(bits, release);  // R1
    }

    // The object's bits, as lock_bits() has returned them. Requires: the lock is held.
    [[nodiscard]] uint32_t held_bits() const noexcept { return word_.load(relaxed) & ~guard; }  // relaxed: our own lock

    // In a child of fork, whose only thread is the caller: the holder may not exist there.
    void reset_after_fork(uint32_t bits = 0) noexcept { word_.store(bits, relaxed_alone); }

    // For assertions that the caller holds it: exact if it does.
    [[nodiscard]] bool is_locked() const noexcept {
        return (word_.load(relaxed) & guard) != 0;  // relaxed: our own lock
    }

    // For a caller that holds the lock in a way that Clang's analysis cannot follow. Checks
    // nothing.
    void assume_held() const noexcept WEFT_ASSERTS_HELD() {}

    // The word itself, for the object's own compare-exchanges (I1).
    atomic<uint32_t>& word() noexcept { return word_; }

protected:
    atomic<uint32_t> word_{0};
};

class WEFT_LOCK_CLASS spin_lock : public guarded_word {
public:
    void lock() noexcept WEFT_ACQUIRE() WEFT_NO_THREAD_SAFETY_ANALYSIS {
        for (uint32_t attempt = 0; word_.exchange(guard, acquire) != 0; ++attempt) {  // A1
            do {
                spin_backoff(attempt);
            } while (word_.load(relaxed) != 0 && ++attempt != 0);  // relaxed: only a check before the next try
        }
    }

    void unlock() noexcept WEFT_RELEASE() WEFT_NO_THREAD_SAFETY_ANALYSIS {
        word_.store(0, release);  // R1
    }
};

}  // namespace weft::detail
