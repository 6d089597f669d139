// pending_timers.h: the number of a runtime's timers.
#pragma once

#include <cstdint>

#include <weft/runtime.h>

namespace weft::test {

// All pending deadlines of rt, of every kind. Exact while none is added or removed. Not from a
// green thread of rt.
[[nodiscard]] uint64_t pending_timers(runtime& rt);

}  // namespace weft::test
