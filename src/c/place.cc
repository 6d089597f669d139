// place.cc: see place.h.
//
// A source_location is a pointer to a constant whose names and types compilers define. Here such
// constants are made at run time, one per place. They are kept for ever in an append-only table, so
// lookups take no lock.
//
// Rejected: A source_location of our own: eight bytes more in every G.
// Rejected: One place for everything that C starts. Dumps would not say where.
#include "c/place.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/atomic.h"

namespace weft::detail {

namespace {

struct place {
    const char* file;
    const char* function;
    unsigned line;
    unsigned column;
};

static_assert(sizeof(source_location) == sizeof(const place*));

constexpr std::size_t table_size = 4096;  // a power of two
constexpr std::size_t probes_max = 16;
constexpr unsigned hash_bits = 12;
static_assert(std::size_t{1} << hash_bits == table_size);

constinit atomic<const place*> table[table_size];
constinit const place unknown{"?", "?", 0, 0};

std::size_t hash(const char* file, unsigned line) noexcept {
    const uint64_t mixed = (reinterpret_cast<uintptr_t>(file) + line * uint64_t{0x9e3779b9}) * 0x9e3779b97f4a7c15;
    return mixed >> (64 - hash_bits);
}

const place* find(const char* file, unsigned line, const char* function) noexcept {
    for (std::size_t i = 0; i < probes_max; ++i) {
        atomic<const place*>& at = table[(hash(file, line) + i) % table_size];
        const place* seen = at.load(acquire);  // pairs with the exchange
        if (seen == nullptr) {
            const auto* made = new (std::nothrow) place{file, function, line, 0};
            if (made == nullptr) return &unknown;
            // acq_rel: publishes it, or sees the other thread's; acquire: the latter
            if (at.compare_exchange_strong(seen, made, acq_rel, acquire)) return made;
            delete made;
        }
        if (seen->file == file && seen->line == line) return seen;
    }
    return &unknown;
}

}  // namespace

source_location place_of(const char* file, int line, const char* function) noexcept {
    if (file == nullptr) return std::bit_cast<source_location>(&unknown);
    return std::bit_cast<source_location>(
        find(file, static_cast<unsigned>(line), function == nullptr ? "?" : function));
}

}  // namespace weft::detail
