// slab.h: a mapping of equal slots: where the stacks of a pool lie.
//
// Who: stack_pool, under its lock; the fault handler reads what is immutable, and carved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "stack/stack.h"

namespace weft::detail {

inline constexpr uint32_t stack_colours = 16;

// Immutable after it is published, but for the last ones.
struct slab {
    slab* next = nullptr;
    std::byte* base = nullptr;
    std::size_t stride = 0;
    uint32_t slots = 0;
    uint8_t size_class = 0;
    bool may_write_protect = false;
    bool kept = false;           // not to be unmapped
    uint32_t at_first = 0;       // bytes at the high end of a slot that are committed when it is mapped; 0: all
    atomic<uint32_t> carved{0};  // slots below have been used; written under the pool's lock
    uint32_t protections = 0;    // guards that count against the process's mappings; guarded by the pool's lock
    std::unique_ptr<guard_kind[]>
        guards;  // of every slot, where they are installed before they are used; guarded likewise

    [[nodiscard]] std::size_t mapped_size() const noexcept { return stride * slots; }

    [[nodiscard]] std::byte* slot(uint32_t index) const noexcept { return base + stride * index; }

    [[nodiscard]] stack* record(uint32_t index) const noexcept {
        return reinterpret_cast<stack*>(slot(index + 1) - (index % stack_colours) * cache_line - sizeof(stack));
    }
};

}  // namespace weft::detail
