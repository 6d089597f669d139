// commit.h: pages that are reserved first and committed later, and what of a mapping is in memory: part of the porting contract, beside
// os.h. For stacks.
//
// Addresses and sizes are in whole pages.
//
// Who: any thread. commit_pages and is_readable also in a signal handler, where they keep errno.
#pragma once

#include <cstddef>

namespace weft::detail::os {

// Address space that cannot be accessed and is not counted as memory; nullptr, with errno set, on failure. Counts as a mapping for
// failure::map.
[[nodiscard]] void* map_reserved(std::size_t size) noexcept;

// Makes reserved pages accessible; they read as zero. From then on they count as memory, where the system counts. Returns 0 or an errno
// value.
[[nodiscard]] int commit_pages(void* address, std::size_t size) noexcept;

// The reverse: content and memory go back, the address space stays. False: nothing has changed.
[[nodiscard]] bool decommit_pages(void* address, std::size_t size) noexcept;

// Whether an access to the word that holds address would not fault.
[[nodiscard]] bool is_readable(const void* address) noexcept;

// How many bytes from low on, of [low, low + size), lie in pages that are not in memory: never touched, given back, or swapped out.
[[nodiscard]] std::size_t absent_bytes(const void* low, std::size_t size) noexcept;

}  // namespace weft::detail::os
