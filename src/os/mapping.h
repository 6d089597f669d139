// mapping.h: options of mmap() that not every system has.
//
// Threads: any thread.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace weft::detail::os {

// The system does not count the memory before it is touched. Others never do.
#if defined(MAP_NORESERVE)
inline constexpr int map_uncounted = MAP_NORESERVE;
#else
inline constexpr int map_uncounted = 0;
#endif

// Touching one page must not bring in its neighbours.
inline void refuse_huge_pages([[maybe_unused]] void* address, [[maybe_unused]] std::size_t size) noexcept {
#if defined(MADV_NOHUGEPAGE)
    madvise(address, size, MADV_NOHUGEPAGE);
#endif
}

}  // namespace weft::detail::os
