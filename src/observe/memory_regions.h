// memory_regions.h: what the memory of this process is used for, as far as a search for leaks must
// know it.
//
// The caller adds the regions of the runtime first. add_heaps() then finds those of malloc in the
// rest. What belongs to no region is memory of the program.
//
// Invariants: I1. After sort(), regions are in order of their addresses and do not overlap.
// Threads:    one, in the child of a fork: nothing allocates from malloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "observe/heap_chunks.h"
#include "observe/memory_map.h"

namespace weft::observe::detail {

enum class region_kind : uint8_t {
    heap,         // blocks of malloc; index: of heaps_
    large_block,  // one block
    slab,         // stacks; from: the slab
    own_stack,    // of a thread, on which a G runs; from: the G
    gs,           // a chunk of a g_pool
    excluded,
};

struct region {
    uintptr_t low = 0;
    uintptr_t high = 0;
    region_kind kind = region_kind::excluded;
    bool reached = false;  // large_block
    uint32_t index = 0;
    const void* from = nullptr;
};

class memory_regions {
public:
    // False: there is no memory.
    [[nodiscard]] bool reserve() noexcept;

    [[nodiscard]] bool read_map() noexcept { return read_memory_map(mappings_); }

    void add(region_kind kind, uintptr_t low, uintptr_t high, const void* from = nullptr, uint32_t index = 0) noexcept {
        if (low < high) regions_.add({low, high, kind, false, index, from});
    }

    void add_heaps() noexcept;

    // False: there are too many.
    [[nodiscard]] bool sort() noexcept;

    // After sort(), as the following ones. False: no region holds the address.
    [[nodiscard]] bool may_hold(uintptr_t address) const noexcept {
        const uintptr_t part = address >> coarse_shift;
        return (coarse_[part % coarse_parts / 64] >> (part % 64) & 1) != 0;
    }

    // nullptr: none holds it.
    [[nodiscard]] region* find(uintptr_t address) noexcept { return find_in(address, regions_.size()); }

    // The first one that begins after the address, or the end.
    [[nodiscard]] const region* after(uintptr_t address) const noexcept {
        return std::upper_bound(regions_.begin(), regions_.end(), address,
                                [](uintptr_t a, const region& r) noexcept { return a < r.low; });
    }

    [[nodiscard]] const region* begin() const noexcept { return regions_.begin(); }

    [[nodiscard]] const region* end() const noexcept { return regions_.end(); }

    [[nodiscard]] std::size_t size() const noexcept { return regions_.size(); }

    [[nodiscard]] const page_array<memory_mapping>& mappings() const noexcept { return mappings_; }

    // Requires: r is a heap.
    [[nodiscard]] chunk_heap& heap_of(const region& r) noexcept { return heaps_[r.index]; }

    // Marks the block of malloc at this address, if there is one.
    void leave_out(uintptr_t address) noexcept;

    // Marks what malloc keeps for threads: see memory_regions.cc.
    void leave_out_caches() noexcept;

    [[nodiscard]] uint64_t heap_bytes() const noexcept { return heap_bytes_; }

    [[nodiscard]] uint64_t heap_blocks() const noexcept { return heap_blocks_; }

    [[nodiscard]] page_table_reader& pages() noexcept { return pages_; }

private:
    // Parts of the address space in which there is a region: a quick test for most words.
    static constexpr unsigned coarse_shift = 26;
    static constexpr std::size_t coarse_parts = std::size_t{1} << 21;  // of 47 bits

    [[nodiscard]] region* find_in(uintptr_t address, std::size_t count) noexcept;
    void find_heaps_in(const memory_mapping& m, std::size_t known) noexcept;
    uintptr_t skip_heap_at(uintptr_t at, uintptr_t limit) noexcept;
    bool add_heap(const heap_bounds& bounds, std::size_t slack) noexcept;
    void leave_out_if_cache(const chunk_heap::block& b) noexcept;
    [[nodiscard]] std::size_t size_of_free(uintptr_t at) noexcept;

    page_array<memory_mapping> mappings_;
    page_array<region> regions_;
    page_array<chunk_heap> heaps_;
    page_table_reader pages_;
    uint64_t heap_bytes_ = 0;
    uint64_t heap_blocks_ = 0;
    uint64_t coarse_[coarse_parts / 64] = {};
};

}  // namespace weft::observe::detail
