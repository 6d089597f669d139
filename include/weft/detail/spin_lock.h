// spin_lock.h: the lock of one object (a channel, a mutex's queue, a timer heap), held for a few dozen instructions.
//
// The lock is bit 0 of a word; the other 31 bits belong to the object and are owned by whoever holds the lock. So one plain
// store both publishes the object's new state and frees the lock, and nothing is touched afterwards: the object may be
// destroyed the moment that store is seen. spin_lock is the case without object bits.
//
// A holder never parks, allocates or calls user code other than a nothrow move; the one exception is a green thread
// that parks: it hands the held lock to whoever runs next on its M, which stores the word once the parked context is
// saved. Contended callers back off on the CPU for a while and then let the operating system run somebody else, since
// the holder may be a thread that was descheduled.
//
// Rejected: a futex lock (its unlock needs a second atomic to learn of sleepers: 2 ns on every channel operation); a fair
// ticket lock (hands the cache line to the other core on every operation; unfair back-off lets one core run a burst,
// which is what makes a contended channel fast).
//
// Invariants: I1. While bit 0 is set only the holder writes the word; everybody else changes it by compare-exchange from a
//                 value with bit 0 clear.
// Ordering:   R1 (unlock) pairs with A1 (lock).
// Who:        any thread.
#pragma once

#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>

namespace weft::detail {

// One round of waiting for somebody else's few instructions; attempt counts from 0. Ends up in the operating system.
void spin_backoff(uint32_t attempt) noexcept;

class guarded_word {
public:
    static constexpr uint32_t guard = 1;

    guarded_word() = default;

    // Begins with these object's bits, not locked.
    WEFT_CONSTEXPR explicit guarded_word(uint32_t bits) noexcept : word_(bits) {}

    // Takes the lock, waiting for it if need be. Returns the object's bits.
    uint32_t lock_bits() noexcept {
        uint32_t seen = word_.load(relaxed);  // relaxed: the exchange below decides
        for (uint32_t attempt = 0;; ++attempt) {
            if ((seen & guard) == 0) {
                if (word_.compare_exchange_weak(seen, seen | guard, acquire, relaxed)) return seen;  // A1
            } else {
                spin_backoff(attempt);
                seen = word_.load(relaxed);  // relaxed: as above
            }
        }
    }

    // Frees the lock and sets the object's bits, in one store. Requires: the lock is held, bits has bit 0 clear.
    void unlock_bits(uint32_t bits) noexcept {
        word_.store(bits, release);  // R1
    }

    // The word itself, for the object's own compare-exchanges (I1).
    atomic<uint32_t>& word() noexcept { return word_; }

protected:
    atomic<uint32_t> word_{0};
};

class spin_lock : public guarded_word {
public:
    void lock() noexcept {
        for (uint32_t attempt = 0; word_.exchange(guard, acquire) != 0; ++attempt) {  // A1
            do {
                spin_backoff(attempt);
            } while (word_.load(relaxed) != 0 && ++attempt != 0);  // relaxed: a look before the next try
        }
    }

    void unlock() noexcept {
        word_.store(0, release);  // R1
    }
};

}  // namespace weft::detail
