// cpu_time.h: CPU time of the calling thread (CLOCK_THREAD_CPUTIME_ID) or the process
// (CLOCK_PROCESS_CPUTIME_ID). Tests measure it where other programs may compete for the processors.
#pragma once

#include <chrono>
#include <ctime>

namespace weft::test {

[[nodiscard]] inline std::chrono::nanoseconds cpu_time(clockid_t whose) {
    timespec t{};
    ::clock_gettime(whose, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace weft::test
