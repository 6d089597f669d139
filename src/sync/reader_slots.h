// reader_slots.h: the readers of a shared_mutex, counted per P, each count on its own cache line.
//
// A reader may leave on another P, so slots may be negative; only the sum matters. Closed slots
// refuse readers, which then use the lock itself. Each slot's modification order tells which
// readers preceded the writer. So no side needs a fence, and a reader that left by its slot
// accesses nothing afterwards.
//
// Invariants: I1. A closed slot counts no reader.
// Ordering:   R1 (leave) pairs with A1 (close); R2 (open) pairs with A2 (enter).
// Threads:    enter, leave: any; open, close: the holder of the shared_mutex's guard.
// See:        docs/shared_mutex.md, test/model/shared_mutex_model.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "base/atomic.h"

namespace weft::detail {

// The caller's preferred slot; any number is valid.
[[nodiscard]] uint32_t slot_of_caller() noexcept;

// Their log2: one slot per P of the caller's runtime, within limits.
[[nodiscard]] uint32_t log2_slots_for_caller() noexcept;

class alignas(cache_line) reader_slots {
public:
    // Makes 2^log2_count closed slots; nullptr without memory.
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

    // Returns false if closed.
    [[nodiscard]] bool enter(uint32_t which) noexcept {
        atomic<uint32_t>& word = at(which & mask_).word;
        uint32_t seen = word.load(relaxed_cas);
        while ((seen & closed) == 0) {
            if (word.compare_exchange_weak(seen, seen + one, acquire, relaxed)) return true;  // A2; relaxed: as above
        }
        return false;
    }

    // Returns false if closed.
    [[nodiscard]] bool leave(uint32_t which) noexcept {
        atomic<uint32_t>& word = at(which & mask_).word;
        uint32_t seen = word.load(relaxed_cas);
        while ((seen & closed) == 0) {
            if (word.compare_exchange_weak(seen, seen - one, release, relaxed)) return true;  // R1; relaxed: as above
        }
        return false;
    }

    // Requires: all slots are closed.
    void open() noexcept {
        for (std::size_t i = 0; i <= mask_; ++i) at(i).word.store(0, release);  // R2
    }

    // Returns entries less exits; may be negative.
    [[nodiscard]] int64_t close() noexcept {
        int64_t sum = 0;
        for (std::size_t i = 0; i <= mask_; ++i) sum += count_of(at(i).word.exchange(closed, acquire));  // A1
        return sum;
    }

    // Approximately what close() would return.
    [[nodiscard]] int64_t look() noexcept {
        int64_t sum = 0;
        for (std::size_t i = 0; i <= mask_; ++i) sum += count_of(at(i).word.load(relaxed_count));
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
