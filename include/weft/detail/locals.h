// locals.h: destroys a green thread's locals when it ends.
//
// Green threads that are joined (wait_group::go, task_scope, async) destroy their values before the
// joining thread learns of their end, like a joined OS thread. All others destroy them last. See
// weft/local.h.
//
// Threads: the green thread itself, outside the runtime.
#pragma once

#include <weft/detail/require.h>

#if !defined(WEFT_MODEL)
#include <atomic>
#endif

namespace weft::detail {

#if defined(WEFT_MODEL)

inline void end_locals() noexcept {}

#else

// Whether the process has ever made a weft::local. Otherwise it pays only for this load.
extern std::atomic<bool> locals_exist;

void destroy_locals() noexcept;

// Destroys the calling green thread's values of locals. Does nothing in a plain thread.
inline void end_locals() noexcept {
    if (locals_exist.load(std::memory_order_relaxed)) [[unlikely]]  // relaxed: a thread that has a value has set it
        destroy_locals();
}

#endif

}  // namespace weft::detail
