// injected.h: in models it does not matter where a green thread waits to run.
#pragma once

#include "sched/park.h"

namespace weft::detail {

inline void push_injected(G* g) noexcept { push_outside(g); }

}  // namespace weft::detail
