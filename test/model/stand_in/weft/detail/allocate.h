// allocate.h, in models: memory that is given back turns into rubbish at once, and is counted. In search.cc.
#pragma once

#include <cstddef>

namespace weft::detail {

[[nodiscard]] void* allocate(std::size_t size, std::size_t align);

void deallocate(void* block, std::size_t align) noexcept;

}  // namespace weft::detail

namespace model {

// Blocks that have not been given back.
extern int blocks_in_use;

}  // namespace model
