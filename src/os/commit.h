// commit.h: reserves pages, commits them later, and tells which are in memory. For stacks.
//
// Part of the porting contract, beside os.h. Addresses and sizes are in whole pages.
//
// Threads: any thread. commit_pages and is_readable also in a signal handler, where they preserve
//          errno.
#pragma once

#include <cstddef>

namespace weft::detail::os {

// Address space that is inaccessible and not counted as memory; nullptr, with errno set, on
// failure. Counts as a mapping for failure::map.
[[nodiscard]] void* map_reserved(std::size_t size) noexcept;

// Makes reserved pages accessible; they read as zero. From then on they count as memory, if the
// system counts. Returns 0 or an errno value.
[[nodiscard]] int commit_pages(void* address, std::size_t size) noexcept;

// The reverse: releases content and memory, and keeps the address space. Returns false if nothing
// has changed.
[[nodiscard]] bool decommit_pages(void* address, std::size_t size) noexcept;

// Whether an access to the word that contains address would not fault.
[[nodiscard]] bool is_readable(const void* address) noexcept;

// How many bytes from low on, in [low, low + size), are in pages that are not in memory: never
// touched, discarded, or swapped out.
[[nodiscard]] std::size_t absent_bytes(const void* low, std::size_t size) noexcept;

}  // namespace weft::detail::os
