// heap_chunks.h: where the blocks of glibc's malloc begin and end, read from its headers.
//
// Without a garbage collector nothing says how large the object at an address is. glibc writes a
// header before each block, so the blocks of a heap can be listed from its first one on:
//
//     chunk                                            next chunk
//     │ prev size │ size | flags │ the block …         │ … last 8 bytes │ size | flags │ …
//                                ▲ what malloc returned, 16 bytes after the chunk
//
// There are three kinds of memory. The heap of the main arena grows at the program's break. Heaps
// of the other arenas begin at a multiple of 64 MiB, with a record. Large blocks have mappings of
// their own. A heap counts only if its chunks end exactly at its end. Otherwise another thread was
// changing it, or the memory is used for something else. It is then treated as any other memory of
// the program, which is always reachable.
//
// For each 16 bytes of a heap there is a bit that says whether a chunk begins there, and one that a
// scan may use as a mark: 1/64 of the memory of the heap.
//
// Rejected. malloc_usable_size: it takes only the address of a block's start. A page as the unit,
// which is independent of the allocator: a page holds blocks of many owners, so nearly all blocks
// of a small program would be reachable.
//
// Threads: one, in the child of a fork.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::observe::detail {

inline constexpr std::size_t chunk_unit = 16;
inline constexpr std::size_t chunk_header = 16;

// The chunks from low to high.
class chunk_heap {
public:
    struct block {
        uintptr_t low = 0;  // 0: no block
        uintptr_t high = 0;
        bool in_use = false;
    };

    // Lists the chunks. slack: bytes that may be left over before high. False: see above.
    [[nodiscard]] bool read(uintptr_t low, uintptr_t high, std::size_t slack) noexcept;

    // The block at this address, or the one before it if the address is the end of that.
    [[nodiscard]] block find(uintptr_t address) const noexcept;

    // Calls each(block) for all.
    template <typename Each>
    void for_each_block(Each&& each) const noexcept {
        for (uintptr_t at = low_; at < high_;) {
            const block b = find(at + chunk_header);
            if (b.low != at + chunk_header) return;  // cannot happen
            each(b);
            at = b.high - (b.in_use ? sizeof(uintptr_t) : 0);
        }
    }

    // True: it was not marked before. Requires: b was found here.
    bool mark(const block& b) noexcept;

    [[nodiscard]] uintptr_t low() const noexcept { return low_; }

    [[nodiscard]] uintptr_t high() const noexcept { return high_; }

    [[nodiscard]] uint64_t count() const noexcept { return count_; }

private:
    static constexpr std::size_t table_page = 4096;

    [[nodiscard]] std::size_t unit_of(uintptr_t address) const noexcept { return (address - base_) / chunk_unit; }

    uintptr_t low_ = 0;
    uintptr_t high_ = 0;   // end of the last chunk
    uintptr_t limit_ = 0;  // end of the heap
    uintptr_t base_ = 0;   // low_, rounded down to a page
    uint64_t count_ = 0;
    uint64_t* starts_ = nullptr;
    uint64_t* marks_ = nullptr;
    uint32_t* covering_ = nullptr;  // for each page: the unit of the last chunk that begins before it
};

// Where the chunks of an arena's heap that begins at `at` are; high == 0: no heap begins there.
// Requires: memory up to limit can be read.
struct heap_bounds {
    uintptr_t low = 0;
    uintptr_t high = 0;
};

inline constexpr uintptr_t arena_heap_alignment = uintptr_t{64} << 20;
[[nodiscard]] heap_bounds arena_heap_at(uintptr_t at, uintptr_t limit) noexcept;

// The size of the mapping of the large block whose page begins at `at`; 0: no such block does.
[[nodiscard]] std::size_t large_chunk_at(uintptr_t at, uintptr_t limit) noexcept;

}  // namespace weft::observe::detail
