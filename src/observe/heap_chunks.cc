// heap_chunks.cc: see heap_chunks.h.
#include "observe/heap_chunks.h"

#include <cstring>

#include "observe/memory_map.h"

namespace weft::observe::detail {

namespace {

constexpr uintptr_t flags = 7;
constexpr uintptr_t previous_in_use = 1;
constexpr uintptr_t is_mapped = 2;
constexpr std::size_t smallest_chunk = 32;
constexpr std::size_t word = sizeof(uintptr_t);
constexpr std::size_t page = 4096;

uintptr_t word_at(uintptr_t address) noexcept {
    uintptr_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
    return value;
}

uintptr_t size_of_chunk(uintptr_t chunk) noexcept { return word_at(chunk + word) & ~flags; }

// Calls each(chunk) for every chunk but the last two words of a heap that glibc has ended there.
// Returns whether they end between high - slack and high.
template <typename Each>
bool walk(uintptr_t low, uintptr_t high, std::size_t slack, Each&& each) noexcept {
    uintptr_t at = low;
    while (high - at >= chunk_header) {
        const uintptr_t size = size_of_chunk(at);
        const bool is_end_mark = size == chunk_header || (size == 0 && high - at == chunk_header);
        if (is_end_mark) {
            at += chunk_header;
            continue;
        }
        if (size < smallest_chunk || size % chunk_unit != 0 || size > high - at) return at != low && high - at <= slack;
        each(at);
        at += size;
    }
    return at != low;
}

bool holds_chunks(uintptr_t low, uintptr_t high) noexcept {
    return walk(low, high, 0, [](uintptr_t) noexcept {});
}

}  // namespace

bool chunk_heap::read(uintptr_t low, uintptr_t high, std::size_t slack) noexcept {
    low_ = low;
    base_ = low / page * page;
    const std::size_t pages = (high - base_) / table_page + 1;
    const std::size_t words = pages * (table_page / chunk_unit / 64);
    starts_ = static_cast<uint64_t*>(map_zeroed(words * sizeof(uint64_t)));
    marks_ = static_cast<uint64_t*>(map_zeroed(words * sizeof(uint64_t)));
    covering_ = static_cast<uint32_t*>(map_zeroed(pages * sizeof(uint32_t)));
    if (starts_ == nullptr || marks_ == nullptr || covering_ == nullptr) return false;
    high_ = low;
    std::size_t covered = 0;  // pages
    const bool whole = walk(low, high, slack, [&](uintptr_t chunk) noexcept {
        const std::size_t unit = unit_of(chunk);
        starts_[unit / 64] |= uint64_t{1} << (unit % 64);
        ++count_;
        const uintptr_t end = chunk + size_of_chunk(chunk);
        for (; base_ + covered * table_page < end; ++covered) {
            if (base_ + covered * table_page > chunk) covering_[covered] = static_cast<uint32_t>(unit);
        }
        high_ = end;
    });
    limit_ = slack == 0 ? high : high_;
    return whole;
}

chunk_heap::block chunk_heap::find(uintptr_t address) const noexcept {
    if (address < low_ + chunk_header || address > high_ + word) return {};
    const std::size_t unit = unit_of(address - chunk_header);
    std::size_t start = covering_[unit * chunk_unit / table_page];
    const std::size_t first_word = unit / (table_page / chunk_unit) * (table_page / chunk_unit / 64);
    for (std::size_t w = unit / 64 + 1; w-- > first_word;) {
        uint64_t bits = starts_[w];
        if (w == unit / 64) bits &= ~uint64_t{0} >> (63 - unit % 64);
        if (bits != 0) {
            start = w * 64 + static_cast<std::size_t>(63 - __builtin_clzll(bits));
            break;
        }
    }
    const uintptr_t chunk = base_ + start * chunk_unit;
    if (chunk < low_) return {};
    const uintptr_t next = chunk + size_of_chunk(chunk);
    // The last one is what the heap has left, unless two words follow that end the heap.
    const bool in_use = limit_ - next >= chunk_header && (word_at(next + word) & previous_in_use) != 0;
    return {chunk + chunk_header, in_use ? next + word : next, in_use};
}

bool chunk_heap::mark(const block& b) noexcept {
    const std::size_t unit = unit_of(b.low - chunk_header);
    const uint64_t bit = uint64_t{1} << (unit % 64);
    if ((marks_[unit / 64] & bit) != 0) return false;
    marks_[unit / 64] |= bit;
    return true;
}

heap_bounds arena_heap_at(uintptr_t at, uintptr_t limit) noexcept {
    constexpr std::size_t record_max = 96;    // of a heap
    constexpr std::size_t arena_min = 0x600;  // of the arena, after the record of its first heap
    constexpr std::size_t arena_max = 0x1000;
    if (limit - at < page) return {};
    const uintptr_t arena = word_at(at);
    const uintptr_t before = word_at(at + word);
    const uintptr_t size = word_at(at + 2 * word);
    const uintptr_t accessible = word_at(at + 3 * word);
    const bool plausible = arena != 0 && arena % chunk_unit == 0 && before % arena_heap_alignment == 0 &&
                           size % page == 0 && size != 0 && size <= limit - at && size <= arena_heap_alignment &&
                           accessible >= size && accessible <= arena_heap_alignment;
    if (!plausible) return {};
    const bool is_first = arena > at && arena < at + record_max;
    const uintptr_t from = is_first ? arena + arena_min : at + 2 * chunk_unit;
    const uintptr_t to = is_first ? arena + arena_max : at + record_max;
    for (uintptr_t low = from; low <= to && low < at + size; low += chunk_unit) {
        if (holds_chunks(low, at + size)) return {low, at + size};
    }
    return {};
}

std::size_t large_chunk_at(uintptr_t at, uintptr_t limit) noexcept {
    if (limit - at < page || word_at(at) != 0) return 0;
    const uintptr_t head = word_at(at + word);
    const uintptr_t size = head & ~flags;
    if ((head & flags) != is_mapped || size < page || size % page != 0 || size > limit - at) return 0;
    return size;
}

}  // namespace weft::observe::detail
