// stopping.h: being at work while a runtime stops.
#pragma once

#include <atomic>

#include <weft/runtime.h>

namespace weft::test {

// Becomes true when somebody has called rt.stop(). Valid until that returns.
[[nodiscard]] const std::atomic<bool>& stop_of(runtime& rt);

// Keeps the processor of the calling green thread busy until its runtime is stopped: no call into weft.
void compute_until_stopped();

}  // namespace weft::test
