// abandoned.h: what is left of green threads that will never run again.
//
// Destroying an object that is waited on, or a mutex that is locked, is a mistake that ends the process. But who waits, or holds the
// lock, may be a G that was abandoned: then nobody can ever wake it or unlock, and destroying the object is all that is left to
// do. Where the runtime could, it has unlinked abandoned Gs from all queues (locks stay locked); where an M was stuck, or the process
// ends with Gs alive, it could not.
//
// Who: any thread.
#pragma once

#include <cstdint>

#include "base/atomic.h"

namespace weft::detail {

namespace abandoned {

inline constexpr uint32_t locks = 1;  // some mutexes stay locked
inline constexpr uint32_t waits = 2;  // some waiters stay linked

// Relaxed: whoever runs a destructor because of what another thread did has synchronised with it.
inline constinit atomic<uint32_t> seen{0};

// From now on, that is no mistake.
inline void add(uint32_t what) noexcept { seen.fetch_or(what, relaxed); }  // relaxed: see above

// relaxed: see above
[[nodiscard]] inline bool any(uint32_t what) noexcept { return (seen.load(relaxed) & what) != 0; }

}  // namespace abandoned

}  // namespace weft::detail
