// run_queue.h: the runnable Gs of one P.
//
// A fixed ring. The owner pushes at the tail and pops at the head; any other P may steal the older
// half. Nothing blocks.
//
// Invariants: I1. tail - head, modulo 2^32, is in [0, capacity].
//             I2. Only the owner writes tail and the slots. Any thread may advance head, by CAS.
//             I3. Every G in [head, tail) is runnable and on no other queue.
// Ordering:   R1 (the owner publishes tail) pairs with A1 (a thief reads tail).
//             R2 (a consumer advances head) pairs with A2 (any thread reads head).
// Threads:    the M that holds the calling P; size(), empty(), popped(): any.
// See:        docs/run_queue.md, test/model/run_queue_model.cc
#pragma once

#include <cstdint>

#include "base/assert.h"
#include "base/atomic.h"

namespace weft::detail {

struct G;

class run_queue {
public:
    static constexpr uint32_t capacity = model_build ? 4 : 256;

    // Returns false if full: see overflow(), park.h.
    [[nodiscard]] bool push(G* g) noexcept {
        WEFT_ASSERT(g != nullptr);
        const uint32_t head = head_.load(acquire);  // A2: slots before head are free
        const uint32_t tail = tail_.load(relaxed);  // relaxed: I2
        WEFT_ASSERT(tail - head <= capacity);
        if (tail - head == capacity) return false;
        slots_[tail & mask].store(g, relaxed);  // relaxed: published by the tail
        tail_.store(tail + 1, release);         // R1: publishes the slot and *g
        return true;
    }

    // If many Gs are queued, sets ahead to one that is popped soon, for a prefetch.
    [[nodiscard]] G* pop(G*& ahead) noexcept {
        uint32_t head = head_.load(acquire);        // A2
        const uint32_t tail = tail_.load(relaxed);  // relaxed: I2
        while (head != tail) {
            G* g = slots_[head & mask].load(relaxed);                                      // relaxed: we wrote it
            if (!head_.compare_exchange_weak(head, head + 1, acq_rel, acquire)) continue;  // R2, A2
            if (tail - head > many) [[unlikely]]
                ahead = slots_[(head + look_ahead) & mask].load(relaxed);  // relaxed: a hint; a thief may have it
            return g;
        }
        return nullptr;
    }

    [[nodiscard]] G* pop() noexcept {
        G* ahead = nullptr;
        return pop(ahead);
    }

    // Moves the older half of a full ring to out (capacity / 2 entries). Returns 0 if a thief has
    // made room.
    [[nodiscard]] uint32_t pop_half(G** out) noexcept {
        uint32_t head = head_.load(acquire);        // A2
        const uint32_t tail = tail_.load(relaxed);  // relaxed: I2
        if (tail - head != capacity) return 0;
        for (uint32_t i = 0; i < capacity / 2; ++i) out[i] = slots_[(head + i) & mask].load(relaxed_own);
        if (!head_.compare_exchange_strong(head, head + capacity / 2, acq_rel, relaxed)) return 0;  // R2, A2
        return capacity / 2;
    }

    // Steals half of victim's Gs, rounded up: returns the oldest, queues the rest here, and sets
    // count to the total. nullptr: victim is empty, or other thieves keep winning. Requires: this
    // queue is empty; victim belongs to another P.
    [[nodiscard]] G* steal_from(run_queue& victim, uint32_t& count) noexcept {
        const uint32_t own_tail = tail_.load(relaxed);  // relaxed: I2
        WEFT_ASSERT(head_.load(acquire) == own_tail);   // A2: empty, so the batch fits
        for (int attempt = 0; attempt < steal_attempts; ++attempt) {
            uint32_t head = victim.head_.load(acquire);        // A2
            const uint32_t tail = victim.tail_.load(acquire);  // A1: the slots before tail, and their Gs
            const uint32_t held = tail - head;
            if (held == 0) return nullptr;
            if (held > capacity) continue;  // read at different moments
            const uint32_t wanted = held - held / 2;
            G* oldest = victim.slots_[head & mask].load(relaxed);  // relaxed: A1 covers it, or the CAS below fails
            for (uint32_t i = 1; i < wanted; ++i) {
                G* g = victim.slots_[(head + i) & mask].load(relaxed);  // relaxed: as above
                slots_[(own_tail + i - 1) & mask].store(g, relaxed);    // relaxed: not published yet
            }
            if (!victim.head_.compare_exchange_strong(head, head + wanted, acq_rel, relaxed)) continue;  // R2, A2
            if (wanted > 1) tail_.store(own_tail + wanted - 1, release);                                 // R1
            count = wanted;
            return oldest;
        }
        return nullptr;
    }

    // Exact for the owner, except for concurrent steals.
    [[nodiscard]] uint32_t size() const noexcept {
        const uint32_t head = head_.load(acquire);  // A2
        const uint32_t tail = tail_.load(acquire);  // A1
        return tail - head > capacity ? capacity : tail - head;
    }

    [[nodiscard]] bool empty() const noexcept { return size() == 0; }

    // How many Gs have left the ring, modulo 2^32.
    [[nodiscard]] uint32_t popped() const noexcept { return head_.load(relaxed_hint); }

private:
    static constexpr uint32_t mask = capacity - 1;
    static constexpr uint32_t many = model_build ? 1 : capacity / 8;
    static constexpr uint32_t look_ahead = model_build ? 1 : capacity / 32;
    static_assert(look_ahead <= many, "the Gs to prefetch are queued");
    static constexpr int steal_attempts = 4;
    static_assert((capacity & mask) == 0, "slots are indexed by masking");

    alignas(cache_line) atomic<uint32_t> head_{0};

    // Slots are atomic, because a slow thief may read one that the owner refills. The thief's CAS
    // then fails.
    alignas(cache_line) atomic<uint32_t> tail_{0};
    atomic<G*> slots_[capacity] = {};
};

}  // namespace weft::detail
