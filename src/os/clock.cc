// clock.cc: the clock of std::chrono::steady_clock and of deadlines: see os.h.
#include <ctime>

#include "os/os.h"

namespace weft::detail::os {

int64_t monotonic_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace weft::detail::os
