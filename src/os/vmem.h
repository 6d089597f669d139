// vmem.h: address space and what may be done with its pages: part of the porting contract, beside os.h.
//
// Addresses and sizes are in whole pages. What can fail returns errno's value.
//
// Who: any thread.
#pragma once

#include <cstddef>

namespace weft::detail::os {

enum class page_access { none, read, read_write };

// Address space that cannot be accessed and costs nothing; nullptr on failure.
[[nodiscard]] void* reserve_pages(std::size_t size) noexcept;

// Changes what may be done with mapped or reserved pages.
[[nodiscard]] int set_page_access(void* address, std::size_t size, page_access access) noexcept;

// As unmap_pages, for what a caller from outside hands in.
[[nodiscard]] int release_pages(void* address, std::size_t size) noexcept;

}  // namespace weft::detail::os
