// priority_queues.h: in models all green threads have one class.
#pragma once

#include "sched/park.h"

namespace weft::detail {

[[nodiscard]] inline bool push_class_outside(G* /*g*/) noexcept { return false; }

}  // namespace weft::detail
