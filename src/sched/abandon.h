// abandon.h: green threads of a scheduler that ends, which will never run again: what they have left with others.
//
// Objects that outlive the scheduler must not find its Gs in their queues, and what they had given to one of them is given back.
//
// Who: whoever ends s, when no M runs its Gs any more. See: docs/runtime.md
#pragma once

#include <cstddef>
#include <cstdint>

#include "sched/scheduler.h"

namespace weft::detail {

// Some threads have not come back, and s stays: takes all Gs that do not run off their queues. Returns how many Gs have not finished.
[[nodiscard]] std::size_t unlink_abandoned(scheduler& s) noexcept;

// As that, when all threads have ended; and destroys what nobody will use: closures that never ran, labels, records.
[[nodiscard]] std::size_t abandon_gs(scheduler& s) noexcept;

// Waits until no thread from outside is at work in s: starts a G, or wakes one. False: the deadline has passed.
[[nodiscard]] bool await_outsiders(const scheduler& s, int64_t deadline_ns) noexcept;

}  // namespace weft::detail
