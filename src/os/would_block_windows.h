// would_block_windows.h: a socket call that would have had to wait tells the poller.
//
// The poller of Windows reports once that something is possible (poll/afd_windows.cc). It must be
// asked again after that was used up, and only then: else it would report the same for ever. The
// call that finds a socket not ready is the moment, or that moves less than it could: then the
// caller waits for the next edge without another call. Each green thread that waits has made one of
// these.
//
// Rejected: A call in common code before each wait: Linux has no use for it.
//
// Threads: any thread.
#pragma once

#include <cstdint>

#include "base/atomic.h"

namespace weft::detail::os {

// what: as in poll_bits, readable or writable. nullptr: there is no poller.
using would_block_function = void (*)(int fd, uint32_t what) noexcept;
extern constinit atomic<would_block_function> would_block_hook;

inline constexpr uint32_t would_read = 1;
inline constexpr uint32_t would_write = 2;

inline void tell_would_block(int fd, uint32_t what) noexcept {
    if (const auto tell = would_block_hook.load(acquire)) tell(fd, what);  // pairs with the poller's store
}

}  // namespace weft::detail::os
