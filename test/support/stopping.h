// stopping.h: running while a runtime stops.
#pragma once

#include <atomic>

#include <weft/runtime.h>

namespace weft::test {

// Becomes true once rt.abandon() was called. Valid until that returns.
[[nodiscard]] const std::atomic<bool>& stop_of(runtime& rt);

// Keeps the calling green thread's processor busy until its runtime stops, without calls into weft.
void compute_until_stopped();

}  // namespace weft::test
