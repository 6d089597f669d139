// abandon.h: unlinks the Gs of a scheduler that ends, which never run again.
//
// Objects that outlive the scheduler must not find its Gs in their queues, and get back what they
// had given to such a G.
//
// Threads: the one that ends s, when no M runs its Gs. See: docs/runtime.md
#pragma once

#include <cstddef>
#include <cstdint>

#include "sched/scheduler.h"

namespace weft::detail {

// For an s that is left behind because threads have not returned: unlinks all Gs that do not run
// from their queues. Returns how many Gs have not finished.
[[nodiscard]] std::size_t unlink_abandoned(scheduler& s) noexcept;

// The same after all threads have ended. Also destroys closures that never ran, labels, and
// records.
[[nodiscard]] std::size_t abandon_gs(scheduler& s) noexcept;

// Waits until no external thread works in s (starts or wakes a G). False: the deadline has passed.
[[nodiscard]] bool await_outsiders(const scheduler& s, int64_t deadline_ns) noexcept;

}  // namespace weft::detail
