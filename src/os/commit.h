// commit.h: reserves pages for stacks, and commits them later. Belongs to the contract of os.h.
//
// Addresses and sizes are in whole pages.
//
// Threads: any thread. commit_pages and is_readable also in a signal handler; they preserve errno.
#pragma once

#include <cstddef>

namespace weft::detail::os {

// Returns inaccessible address space, not counted as memory; nullptr, with errno set, on failure.
// Counts for failure::map.
[[nodiscard]] void* map_reserved(std::size_t size) noexcept;

// The pages read as zero, and count as memory. Returns 0 or an errno value.
[[nodiscard]] int commit_pages(void* address, std::size_t size) noexcept;

// Keeps only the address space. Returns false if nothing has changed.
[[nodiscard]] bool decommit_pages(void* address, std::size_t size) noexcept;

// The same for a part of a stack that reaches up to its committed pages or its end. Where handlers
// of faults need room on the stack itself, it and a guard are made below address. Requires:
// guard_size bytes below the stack's lowest address are reserved.
[[nodiscard]] int commit_stack(void* address, std::size_t size) noexcept;
[[nodiscard]] bool decommit_stack(void* address, std::size_t size) noexcept;

// Whether the system charges pages before they are touched, even sparse ones. Then stacks grow
// unless the program chooses another policy.
#if defined(_WIN32)
inline constexpr bool charges_untouched_pages = true;
#else
inline constexpr bool charges_untouched_pages = false;
#endif

// Whether the word that contains address can be read.
[[nodiscard]] bool is_readable(const void* address) noexcept;

// Returns how many bytes from low on are not in memory.
[[nodiscard]] std::size_t absent_bytes(const void* low, std::size_t size) noexcept;

}  // namespace weft::detail::os
