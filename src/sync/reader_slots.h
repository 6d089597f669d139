// reader_slots.h: the readers of one shared_mutex, counted apart for each processor, each count on a cache line of its own.
//
// Who enters adds one to the slot of the processor it runs on, who leaves takes one off: one atomic on a line that is this
// core's already. A green thread may leave on another processor than it entered on, so a slot may be negative: only the
// sum of all means something. A writer closes the slots one by one; a closed slot refuses both, and its readers go to the lock
// itself. So each slot's own order of changes decides who came before the writer: no fence on either side, and a reader
// that has left by its slot touches nothing afterwards.
//
// Rejected: one table for all locks of the process (a reader finds its place taken by one that is parked, of this lock or of another
// one); a flag that readers look at after they have counted themselves (a fence, and on their way out a look at a lock that may be gone).
//
// Invariants: I1. A closed slot counts nobody.
// Ordering:   R1 (leave) pairs with A1 (close); R2 (open) pairs with A2 (enter).
// Who:        enter, leave: any thread; open, close: who holds the guard of the shared_mutex.
// See:        docs/shared_mutex.md, test/model/shared_mutex_model.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "base/atomic.h"

namespace weft::detail {

// Which slot the caller uses at best; any number is right.
[[nodiscard]] uint32_t slot_of_caller() noexcept;

// How many slots to make, as a power of two: as many as the caller's runtime has processors, but not too few or too many.
[[nodiscard]] uint32_t log2_slots_for_caller() noexcept;

class alignas(cache_line) reader_slots {
public:
    // With 2^log2_count slots, all closed. nullptr: no memory.
    [[nodiscard]] static reader_slots* make(uint32_t log2_count) noexcept {
        const std::size_t count = std::size_t{1} << log2_count;
        void* memory = ::operator new(sizeof(reader_slots) + count * sizeof(slot), alignment, std::nothrow);
        return memory == nullptr ? nullptr : new (memory) reader_slots(count);
    }

    static void destroy(reader_slots* s) noexcept {
        if (s == nullptr) return;
        for (std::size_t i = 0; i <= s->mask_; ++i) s->at(i).~slot();
        s->~reader_slots();
        ::operator delete(s, alignment);
    }

    // Counts the caller in. False: closed.
    [[nodiscard]] bool enter(uint32_t which) noexcept {
        atomic<uint32_t>& word = at(which & mask_).word;
        uint32_t seen = word.load(relaxed);  // relaxed: the exchange decides
        while ((seen & closed) == 0) {
            if (word.compare_exchange_weak(seen, seen + one, acquire, relaxed)) return true;  // A2; relaxed: as above
        }
        return false;
    }

    // Counts it out. False: closed.
    [[nodiscard]] bool leave(uint32_t which) noexcept {
        atomic<uint32_t>& word = at(which & mask_).word;
        uint32_t seen = word.load(relaxed);  // relaxed: the exchange decides
        while ((seen & closed) == 0) {
            if (word.compare_exchange_weak(seen, seen - one, release, relaxed)) return true;  // R1; relaxed: as above
        }
        return false;
    }

    // Requires: closed.
    void open() noexcept {
        for (std::size_t i = 0; i <= mask_; ++i) at(i).word.store(0, release);  // R2
    }

    // Returns how many are in, less those who entered elsewhere and have left by here.
    [[nodiscard]] int64_t close() noexcept {
        int64_t sum = 0;
        for (std::size_t i = 0; i <= mask_; ++i) sum += count_of(at(i).word.exchange(closed, acquire));  // A1
        return sum;
    }

    // What close() would return, roughly.
    [[nodiscard]] int64_t look() noexcept {
        int64_t sum = 0;
        for (std::size_t i = 0; i <= mask_; ++i) sum += count_of(at(i).word.load(relaxed));  // relaxed: a look
        return sum;
    }

private:
    static constexpr std::align_val_t alignment{cache_line};
    static constexpr uint32_t closed = 1;
    static constexpr uint32_t one = 2;

    struct alignas(cache_line) slot {
        atomic<uint32_t> word{closed};  // closed, or twice a signed count
    };

    explicit reader_slots(std::size_t count) noexcept : mask_(static_cast<uint32_t>(count - 1)) {
        for (std::size_t i = 0; i < count; ++i) new (&at(i)) slot;
    }

    slot& at(std::size_t i) noexcept { return reinterpret_cast<slot*>(this + 1)[i]; }

    static int64_t count_of(uint32_t word) noexcept { return static_cast<int32_t>(word) / static_cast<int32_t>(one); }

    const uint32_t mask_;
};

}  // namespace weft::detail
