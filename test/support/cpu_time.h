// cpu_time.h: the time that processors have spent on the calling thread (CLOCK_THREAD_CPUTIME_ID) or on the process
// (CLOCK_PROCESS_CPUTIME_ID): what a test measures where other programs may want the processors, too.
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
