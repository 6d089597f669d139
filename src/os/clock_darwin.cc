// clock_darwin.cc: the clock of std::chrono::steady_clock and of deadlines: see os.h. libc++ uses
// this one, which also counts while the machine sleeps.
#include <ctime>

#include "os/os.h"

namespace weft::detail::os {

int64_t monotonic_ns() noexcept { return static_cast<int64_t>(clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW)); }

}  // namespace weft::detail::os
