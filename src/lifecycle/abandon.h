// abandon.h: removes the traces of Gs that never run again, because their scheduler ends.
//
// A surviving object must not find such a G in its queue, and gets back what it gave to one.
//
// Threads: the thread that ends s, when no M schedules its Gs. See: docs/runtime.md
#pragma once

#include <cstddef>
#include <cstdint>

#include "sched/scheduler.h"

namespace weft::detail {

// g, which does not run, will never run again: removes it from the queues of what it waits for, and
// gives back what it was given.
void unlink_waiter(G& g) noexcept;

// Then: destroys its closure, if that never ran, and its labels and records. Does nothing if it has
// been called before.
void release_abandoned(G& g) noexcept;

// Some threads have not returned: unlinks all Gs that do not run. Returns the number of unfinished
// Gs.
[[nodiscard]] std::size_t unlink_abandoned(scheduler& s) noexcept;

// The same after all threads have ended. Also destroys closures that never ran, labels and records.
[[nodiscard]] std::size_t abandon_gs(scheduler& s) noexcept;

// Waits while external threads start or wake Gs of s. False: the deadline has passed.
[[nodiscard]] bool wait_for_external_refs(const scheduler& s, int64_t deadline_ns) noexcept;

}  // namespace weft::detail
