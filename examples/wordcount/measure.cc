#include "measure.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "../process_memory.h"

namespace wordcount {

namespace {

double cpu_seconds_used() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void give_memory_back() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
    std::ofstream("/proc/self/clear_refs") << "5";  // proc(5): resets VmHWM to VmRSS
}

}  // namespace

meter::meter() {
    give_memory_back();
    resident_ = process_memory::resident_bytes();
    cpu_ = cpu_seconds_used();
    start_ = clock::now();
}

cost meter::done() const {
    const std::chrono::duration<double> elapsed = clock::now() - start_;
    const std::uint64_t peak = process_memory::field("/proc/self/status", "VmHWM:", 0) * 1024;
    return {elapsed.count(), cpu_seconds_used() - cpu_, peak - std::min(peak, resident_)};
}

neighbours::neighbours() : start_(now()), own_(cpu_seconds_used()) {}

double neighbours::share() const {
    const machine_time end = now();
    const double total = end.total - start_.total;
    const double others = end.busy - start_.busy - (cpu_seconds_used() - own_);
    return total > 0 ? std::clamp(others / total, 0.0, 1.0) : 0;
}

// proc(5): "cpu user nice system idle iowait irq softirq steal …" in clock ticks, summed over all
// processors.
neighbours::machine_time neighbours::now() {
    constexpr int columns = 8;
    const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
    std::ifstream file("/proc/stat");
    std::string name;
    file >> name;
    machine_time sum;
    for (int column = 0; column < columns; ++column) {
        double ticks = 0;
        file >> ticks;
        const bool is_idle = column == 3 || column == 4;
        sum.total += ticks / ticks_per_second;
        if (!is_idle) sum.busy += ticks / ticks_per_second;
    }
    return sum;
}

}  // namespace wordcount
