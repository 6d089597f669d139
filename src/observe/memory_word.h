// memory_word.h: what a search for leaks reads at a time.
//
// Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::observe::detail {

inline constexpr std::size_t word = sizeof(uintptr_t);

[[nodiscard]] inline uintptr_t word_at(uintptr_t address) noexcept {
    uintptr_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
    return value;
}

}  // namespace weft::observe::detail
