// measurement.h: clocks, process memory, and the JSON line of a repetition.
#pragma once

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "run_arguments.h"

namespace bench {

inline int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// The CPU time of all threads of the process.
inline int64_t cpu_ns() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

// How often one of the process's threads slept, with nothing to do.
inline int64_t voluntary_switches() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

// The number of the process's threads; 0 if unknown.
inline int64_t threads() {
    int64_t count = 0;
    std::FILE* status = std::fopen("/proc/self/status", "r");
    if (status == nullptr) return 0;
    char line[256];
    while (std::fgets(line, sizeof line, status) != nullptr && std::sscanf(line, "Threads: %" SCNd64, &count) != 1) {}
    std::fclose(status);
    return count;
}

struct memory {
    int64_t resident_bytes = 0;
    int64_t page_table_bytes = 0;
    int64_t peak_bytes = 0;
};

// Reads /proc/self/status; all zero if it is missing.
inline memory read_memory() {
    memory result;
    std::FILE* status = std::fopen("/proc/self/status", "r");
    if (status == nullptr) return result;
    char line[256];
    while (std::fgets(line, sizeof line, status) != nullptr) {
        int64_t kib = 0;
        if (std::sscanf(line, "VmRSS: %" SCNd64, &kib) == 1) result.resident_bytes = kib * 1024;
        if (std::sscanf(line, "VmPTE: %" SCNd64, &kib) == 1) result.page_table_bytes = kib * 1024;
        if (std::sscanf(line, "VmHWM: %" SCNd64, &kib) == 1) result.peak_bytes = kib * 1024;
    }
    std::fclose(status);
    return result;
}

// The metrics of one repetition, printed as one flat JSON object.
class measurement {
public:
    void add(const char* name, double value) {
        char text[96];
        std::snprintf(text, sizeof text, ",\"%s\":%.6g", name, value);
        metrics_ += text;
    }

    void add_per_op(const char* name, int64_t total, int64_t operations) {
        add(name, static_cast<double>(total) / static_cast<double>(operations));
    }

    void print(const char* peer, const std::string& version, const run_arguments& arguments) const {
        std::printf("{\"peer\":\"%s\",\"workload\":\"%s\",\"p\":%d,\"n\":%" PRId64 ",\"k\":%" PRId64 ",\"cap\":%" PRId64
                    ",\"version\":\"%s\"%s}\n",
                    peer, arguments.workload.c_str(), arguments.p, arguments.n, arguments.k, arguments.cap,
                    version.c_str(), metrics_.c_str());
        std::fflush(stdout);
    }

private:
    std::string metrics_;
};

}  // namespace bench
