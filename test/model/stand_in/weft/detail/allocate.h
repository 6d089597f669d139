// allocate.h, in models: freed memory is overwritten at once, and blocks are counted. Defined in
// search.cc.
#pragma once

#include <cstddef>

namespace weft::detail {

[[nodiscard]] void* allocate(std::size_t size, std::size_t align);

void deallocate(void* block, std::size_t align) noexcept;

}  // namespace weft::detail

namespace model {

// The number of blocks that have not been freed.
extern int blocks_in_use;

}  // namespace model
