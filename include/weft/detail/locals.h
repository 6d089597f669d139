// locals.h: what becomes of a green thread's locals when it ends.
//
// Green threads that are joined (wait_group::go, async) destroy their values before their end is told to whoever waits for it, as a
// joined thread would; all others do so last of all. See weft/local.h.
//
// Who: the green thread itself, outside of the runtime.
#pragma once

#include <weft/detail/require.h>

#if !defined(WEFT_MODEL)
#include <atomic>
#endif

namespace weft::detail {

#if defined(WEFT_MODEL)

inline void end_locals() noexcept {}

#else

// Whether the process has ever made a weft::local: those that never do pay a load for what follows.
extern std::atomic<bool> locals_exist;

void destroy_locals() noexcept;

// Destroys all values that the calling green thread has of locals. Does nothing in a plain thread.
inline void end_locals() noexcept {
    if (locals_exist.load(std::memory_order_relaxed)) [[unlikely]]  // relaxed: who has a value has set it
        destroy_locals();
}

#endif

}  // namespace weft::detail
