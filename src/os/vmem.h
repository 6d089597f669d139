// vmem.h: address space and page access: part of the porting contract, beside os.h.
//
// Addresses and sizes are in whole pages. Functions that can fail return errno's value.
//
// Threads: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

// How many mappings a process may have; UINT32_MAX: as many as memory allows.
[[nodiscard]] uint64_t mapping_limit() noexcept;

enum class page_access { none, read, read_write };

// Returns inaccessible address space without memory cost; nullptr on failure.
[[nodiscard]] void* reserve_pages(std::size_t size) noexcept;

[[nodiscard]] int set_page_access(void* address, std::size_t size, page_access access) noexcept;

// Reports a failure, unlike unmap_pages.
[[nodiscard]] int release_pages(void* address, std::size_t size) noexcept;

}  // namespace weft::detail::os
