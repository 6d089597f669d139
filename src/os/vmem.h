// vmem.h: address space and page access: part of the porting contract, beside os.h.
//
// Addresses and sizes are in whole pages. Functions that can fail return errno's value.
//
// Threads: any thread.
#pragma once

#include <cstddef>

namespace weft::detail::os {

enum class page_access { none, read, read_write };

// Inaccessible address space without memory cost; nullptr on failure.
[[nodiscard]] void* reserve_pages(std::size_t size) noexcept;

// Changes the access rights of mapped or reserved pages.
[[nodiscard]] int set_page_access(void* address, std::size_t size, page_access access) noexcept;

// As unmap_pages, for ranges that a user of the library passes in.
[[nodiscard]] int release_pages(void* address, std::size_t size) noexcept;

}  // namespace weft::detail::os
