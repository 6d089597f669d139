// allocate.h: blocks of memory of which size and alignment are known only when the program runs.
//
// The aligned operator new and delete are some 50 instructions dearer than the plain ones (after_func and stop in bench/budget.py: 1098 and
// 1044), even for alignments that those give anyway.
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

// The same align as for allocate().
inline void deallocate(void* block, std::size_t align) noexcept {
    if (align <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        ::operator delete(block);
    } else {
        ::operator delete(block, std::align_val_t{align});
    }
}

}  // namespace weft::detail
