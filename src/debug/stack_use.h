// stack_use.h: measuring how deep live green threads have used their stacks.
#pragma once

namespace weft::detail {

struct scheduler;

// Notes the depth of every G of s that waits or is runnable, in s.places. Any thread that keeps s.
void measure_live(scheduler& s) noexcept;

}  // namespace weft::detail
