// allocate.h: memory blocks whose size and alignment are known only at run time.
//
// The aligned operator new and delete cost some 50 instructions more than the plain ones, even for
// alignments that the plain ones guarantee (after_func and stop in bench/budget.py: 1098 and 1044).
#pragma once

#include <cstddef>
#include <new>

#include <weft/detail/require.h>

namespace weft::detail {

// Throws std::bad_alloc.
[[nodiscard]] inline void* allocate(std::size_t size, std::size_t align) {
    if (align <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return ::operator new(size);
    return ::operator new(size, std::align_val_t{align});
}

// Requires: align is the value that was passed to allocate().
inline void deallocate(void* block, std::size_t align) noexcept {
    if (align <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        ::operator delete(block);
    } else {
        ::operator delete(block, std::align_val_t{align});
    }
}

}  // namespace weft::detail
