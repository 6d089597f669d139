// slab.h: a mapping of equal slots, which hold the stacks of a pool.
//
// The fault handler walks the list of slabs without a lock, so descriptions are never freed. That
// of an unmapped slab is reused only for as many slots, so its geometry never changes.
//
//                  map                       carve                give, retire
//    (unmapped) ──────────▶ slot is blank ──────────▶ slot has a stack record, live bit ──────────▶ in retired
//         ▲                    ▲      │                                                                │ │
//         │      unmap         │      │                      blank: all its pages go back              │ │
//         ├────────────────────┼──────┘◀───────────────────────────────────────────────────────────────┘ │
//         └──────── unmap, if all stacks of the slab are in retired ◀────────────────────────────────────┘
//
// Ordering: R1 (set a live bit) pairs with A1 (the fault handler reads it, then the record).
//           R2 (set base, or clear it before unmapping) pairs with A2 (it reads base).
//           R3 (add a slab to the list) pairs with A3 (it walks the list).
// Threads:  stack_pool under its lock; the fault handler reads immutable and atomic members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/list.h"
#include "stack/stack.h"

namespace weft::detail {

inline constexpr uint32_t stack_colours = 16;
inline constexpr uint32_t largest_slab_slots = 4096;

struct slab {
    static constexpr uint32_t none = UINT32_MAX;
    static constexpr uint32_t word_bits = 64;

    atomic<slab*> next{nullptr};                                 // the next younger: R3, A3
    atomic<std::byte*> base{nullptr};                            // R2, A2; nullptr: unmapped
    atomic<uint64_t> live[largest_slab_slots / word_bits] = {};  // the slot has a record: R1, A1

    // Immutable once the slab is in the list.
    std::size_t stride = 0;
    uint32_t slots = 0;
    uint32_t at_first = 0;  // bytes committed at a slot's high end when it is mapped; 0: all
    uint8_t size_class = 0;

    // Guarded by the pool's lock.
    bool may_write_protect = false;
    bool kept = false;                     // Never unmapped.
    bool leaves = false;                   // trim() is about to unmap it: not carved, not counted.
    uint32_t live_count = 0;               // Bits set in live.
    uint32_t protections = 0;              // mprotect guards.
    lifo<stack> retired;                   // Reused only when the depot is empty.
    std::unique_ptr<guard_kind[]> guards;  // missing: not installed yet.

    [[nodiscard]] std::size_t mapped_size() const noexcept { return stride * slots; }

    [[nodiscard]] bool is_mapped() const noexcept { return base.load(relaxed_locked) != nullptr; }

    [[nodiscard]] bool has_blank() const noexcept { return is_mapped() && !leaves && live_count != slots; }

    [[nodiscard]] bool is_unused() const noexcept {
        return is_mapped() && !leaves && !kept && retired.size() == live_count;
    }

    [[nodiscard]] std::byte* slot_in(std::byte* at, uint32_t index) const noexcept { return at + stride * index; }

    [[nodiscard]] stack* record_in(std::byte* at, uint32_t index) const noexcept {
        return reinterpret_cast<stack*>(slot_in(at, index + 1) - (index % stack_colours) * cache_line - sizeof(stack));
    }

    // Requires: the pool's lock, or that no other thread uses the slot.
    [[nodiscard]] std::byte* slot(uint32_t index) const noexcept { return slot_in(base.load(relaxed_locked), index); }

    [[nodiscard]] stack* record(uint32_t index) const noexcept { return record_in(base.load(relaxed_locked), index); }

    [[nodiscard]] bool holds(const std::byte* at, const void* address) const noexcept {
        const auto* where = static_cast<const std::byte*>(address);
        return at != nullptr && where >= at && where < at + mapped_size();
    }

    // Requires: holds(at, address).
    [[nodiscard]] uint32_t index_in(const std::byte* at, const void* address) const noexcept {
        return static_cast<uint32_t>(static_cast<std::size_t>(static_cast<const std::byte*>(address) - at) / stride);
    }

    [[nodiscard]] bool is_live(uint32_t index) const noexcept {
        return (live[index / word_bits].load(acquire) >> (index % word_bits) & 1) != 0;  // A1
    }

    [[nodiscard]] uint32_t find_blank() const noexcept {
        for (uint32_t w = 0; w * word_bits < slots; ++w) {
            const uint64_t word = live[w].load(relaxed_locked);
            if (word == ~uint64_t{0}) continue;
            const uint32_t index = w * word_bits + static_cast<uint32_t>(__builtin_ctzll(~word));
            return index < slots ? index : none;
        }
        return none;
    }

    void set_live(uint32_t index, bool is) noexcept {
        atomic<uint64_t>& word = live[index / word_bits];
        word.store(word.load(relaxed) ^ uint64_t{1} << (index % word_bits), release);  // R1; relaxed: locked
        live_count += is ? 1U : ~0U;
    }
};

// Calls visit for each slab that has outlived its pool, because Gs were abandoned on its stacks. It
// stays mapped for ever. Of very many, some are left out. Takes no lock: for the child of a fork.
void for_each_abandoned_slab(void (*visit)(void* closure, const std::byte* low, std::size_t size) noexcept,
                             void* closure) noexcept;

}  // namespace weft::detail
