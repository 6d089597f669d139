// clock_windows.cc: the clock of std::chrono::steady_clock and of deadlines, by the performance
// counter: see os.h. Its rate is fixed at boot, usually 10 MHz.
#include "base/time_units.h"
#include "os/os.h"
#include "os/windows_api.h"

namespace weft::detail::os {

int64_t monotonic_ns() noexcept {
    static const int64_t rate_hz = [] {
        LARGE_INTEGER rate;
        QueryPerformanceFrequency(&rate);
        return rate.QuadPart;
    }();
    LARGE_INTEGER now;
    QueryPerformanceCounter(&now);
    // Whole seconds apart: the product of all would overflow after days.
    return now.QuadPart / rate_hz * ns_per_s + now.QuadPart % rate_hz * ns_per_s / rate_hz;
}

}  // namespace weft::detail::os
