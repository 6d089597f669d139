// semaphore_waiter.h: a waiter of a semaphore, of either kind.
//
// A green thread that is abandoned while it waits, or after it was given units, will not run again.
// Then leave() gives its units back, or serves the waiters behind it.
//
// Threads: the waiter; and the thread that stops its runtime, once the waiter is off the queue.
#pragma once

#include <weft/detail/wait.h>

namespace weft::detail {

struct semaphore_waiter : waiter {
    // w is off its queue and will never run again. With w.ok it was given its units.
    using leaver = void (*)(const semaphore_waiter& w) noexcept;

    // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject): as any waiter, filled in when it waits
    semaphore_waiter(void* semaphore, leaver l) noexcept : leave(l) { slot = semaphore; }

    const leaver leave;
};

}  // namespace weft::detail
