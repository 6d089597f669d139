// memory_regions.cc: see memory_regions.h.
#include "observe/memory_regions.h"

#include <algorithm>
#include <cstring>

#include "observe/memory_word.h"
#include "os/os.h"

namespace weft::observe::detail {

namespace {

constexpr std::size_t mappings_max = 200'000;
constexpr std::size_t regions_max = 400'000;
constexpr std::size_t heaps_max = 4096;

bool before(const region& a, const region& b) noexcept { return a.low < b.low; }

// What glibc keeps for each thread, up to version 2.41: lists of free blocks, by size.
struct thread_cache {
    static constexpr std::size_t bins = 64;
    static constexpr unsigned mangling_shift = 12;  // a link is XORed with its own address, shifted

    uint16_t counts[bins];
    uintptr_t first[bins];

    [[nodiscard]] static constexpr std::size_t size_of(std::size_t bin) noexcept { return 24 + bin * 16; }
};

// The arena of the program's break is a variable of the C library. Its lists of free blocks
// have addresses of chunks, which are also those of the last word of the block before. An empty
// list refers to itself.
heap_bounds main_arena_in(const memory_mapping& m) noexcept {
    constexpr std::size_t lists_size = 254 * word;
    constexpr std::size_t before_lists = 14 * word;  // fast bins, what the heap has left, flags
    constexpr std::size_t empty_min = 32;
    if (m.anonymous || m.shared) return {};
    std::size_t empty = 0;
    uintptr_t first = 0;
    for (uintptr_t at = m.low; at + 2 * word <= m.high; at += word) {
        if (word_at(at) != at - 2 * word || word_at(at + word) != at - 2 * word) continue;
        if (empty == 0 || at - first > lists_size) {
            empty = 0;
            first = at;
        }
        if (++empty < empty_min) continue;
        uintptr_t last = at;
        for (uintptr_t next = at; next < first + lists_size && next + 2 * word <= m.high; next += word) {
            if (word_at(next) == next - 2 * word && word_at(next + word) == next - 2 * word) last = next;
        }
        const uintptr_t end = last + 2 * word;
        return {std::max(m.low, end - lists_size - before_lists), end};
    }
    return {};
}

}  // namespace

bool memory_regions::reserve() noexcept {
    return mappings_.reserve(mappings_max) && regions_.reserve(regions_max) && heaps_.reserve(heaps_max);
}

void memory_regions::add_heaps() noexcept {
    std::sort(regions_.begin(), regions_.end(), before);
    const std::size_t known = regions_.size();
    for (const memory_mapping& m : mappings_) {
        if (!m.writable) continue;
        find_heaps_in(m, known);
        const heap_bounds arena = main_arena_in(m);
        add(region_kind::excluded, arena.low, arena.high);
    }
}

// known: regions that were sorted before; no heap is in one of them.
void memory_regions::find_heaps_in(const memory_mapping& m, std::size_t known) noexcept {
    if (!m.writable || m.shared || !m.anonymous || m.main_stack) return;
    if (m.main_heap) {
        add_heap({m.low, m.high}, weft::detail::os::page_size() - 1);
        return;
    }
    for (uintptr_t at = m.low; at < m.high;) {
        if (const region* in = find_in(at, known)) {
            at = in->high;
            continue;
        }
        at = skip_heap_at(at, m.high);
    }
}

// Returns where to look next.
uintptr_t memory_regions::skip_heap_at(uintptr_t at, uintptr_t limit) noexcept {
    const uintptr_t next = at + weft::detail::os::page_size();
    if (!pages_.exists(at)) return next;
    if (const std::size_t size = large_chunk_at(at, limit)) {
        add(region_kind::large_block, at, at + size);
        heap_bytes_ += size;
        ++heap_blocks_;
        return at + size;
    }
    if (at % arena_heap_alignment != 0) return next;
    const heap_bounds bounds = arena_heap_at(at, limit);
    if (bounds.high == 0 || !add_heap(bounds, 0)) return next;
    add(region_kind::excluded, at, bounds.low);  // what malloc knows of the arena
    return bounds.high;
}

bool memory_regions::add_heap(const heap_bounds& bounds, std::size_t slack) noexcept {
    if (heaps_.is_full()) return false;
    chunk_heap heap;
    if (!heap.read(bounds.low, bounds.high, slack)) return false;
    add(region_kind::heap, bounds.low, bounds.high, nullptr, static_cast<uint32_t>(heaps_.size()));
    heaps_.add(heap);
    heap_bytes_ += heap.high() - heap.low();
    heap_blocks_ += heap.count();
    return true;
}

bool memory_regions::sort() noexcept {
    if (regions_.is_full()) return false;
    std::sort(regions_.begin(), regions_.end(), before);
    for (const region& r : regions_) {
        for (uintptr_t part = r.low >> coarse_shift; part <= (r.high - 1) >> coarse_shift; ++part) {
            coarse_[part % coarse_parts / 64] |= uint64_t{1} << (part % 64);
        }
    }
    return true;
}

region* memory_regions::find_in(uintptr_t address, std::size_t count) noexcept {
    region* first = regions_.begin();
    region* after = std::upper_bound(first, first + count, address,
                                     [](uintptr_t a, const region& r) noexcept { return a < r.low; });
    if (after == first) return nullptr;
    region* found = after - 1;
    return address < found->high ? found : nullptr;
}

// Each thread has a cache of free blocks, which malloc counts as used. Blocks in it are not
// scanned, nor is the cache.
void memory_regions::leave_out_if_cache(const chunk_heap::block& b) noexcept {
    if (!b.in_use || b.high - b.low != sizeof(thread_cache) + word) return;
    const auto& cache = *reinterpret_cast<const thread_cache*>(b.low);
    for (std::size_t i = 0; i < thread_cache::bins; ++i) {
        if ((cache.first[i] == 0) != (cache.counts[i] == 0)) return;
        if (cache.first[i] != 0 && size_of_free(cache.first[i]) != thread_cache::size_of(i)) return;
    }
    leave_out(b.low);
    for (std::size_t i = 0; i < thread_cache::bins; ++i) {
        uintptr_t at = cache.first[i];
        for (std::size_t n = 0; n < cache.counts[i] && size_of_free(at) == thread_cache::size_of(i); ++n) {
            leave_out(at);
            at = word_at(at) ^ (at >> thread_cache::mangling_shift);
        }
    }
}

// The usable size of the block that begins there; 0: none does.
std::size_t memory_regions::size_of_free(uintptr_t at) noexcept {
    const region* in = find_in(at, regions_.size());
    if (in == nullptr || in->kind != region_kind::heap) return 0;
    const chunk_heap::block b = heaps_[in->index].find(at);
    return b.low == at ? b.high - b.low : 0;
}

void memory_regions::leave_out(uintptr_t at) noexcept {
    const region* in = find_in(at, regions_.size());
    if (in == nullptr || in->kind != region_kind::heap) return;
    const chunk_heap::block b = heaps_[in->index].find(at);
    if (b.low != 0) heaps_[in->index].mark(b);
}

void memory_regions::leave_out_caches() noexcept {
    for (const chunk_heap& heap : heaps_) {
        heap.for_each_block([&](const chunk_heap::block& b) noexcept { leave_out_if_cache(b); });
    }
}

}  // namespace weft::observe::detail
