// pending_timers.h: how many timers a runtime has, of all kinds.
#pragma once

#include <cstdint>

#include <weft/runtime.h>

namespace weft::test {

// All deadlines that are to come in rt. Exact while nobody adds or removes any. Not from a green thread of rt.
[[nodiscard]] uint64_t pending_timers(runtime& rt);

}  // namespace weft::test
