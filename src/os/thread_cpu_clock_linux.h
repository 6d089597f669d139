// thread_cpu_clock_linux.h: the clock of the CPU time of any thread of this process.
#pragma once

#include <ctime>

namespace weft::detail::os {

// To the nanosecond. The encoding is the kernel's.
[[nodiscard]] constexpr clockid_t thread_cpu_clock(int tid) noexcept {
    constexpr unsigned per_thread = 4;
    constexpr unsigned scheduled_time = 2;
    return static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | per_thread | scheduled_time);
}

}  // namespace weft::detail::os
