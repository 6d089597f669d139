// measure.h: the cost of a piece of work: time, processor time, memory.
#pragma once

#include <chrono>
#include <cstdint>

namespace wordcount {

struct cost {
    double seconds = 0;
    double cpu_seconds = 0;        // user and system, of all threads
    std::uint64_t peak_bytes = 0;  // how far the resident memory rose above its size at the start
};

// Measures from its construction to done().
class meter {
public:
    // First returns free memory to the system, and resets the kernel's high-water mark.
    meter();

    [[nodiscard]] cost done() const;

private:
    using clock = std::chrono::steady_clock;

    std::uint64_t resident_;
    double cpu_;
    clock::time_point start_;
};

// Measures how much processor time other programs use, from its construction on.
class neighbours {
public:
    neighbours();

    // The fraction of all processors' time, 0 to 1, that other programs have used.
    [[nodiscard]] double share() const;

private:
    struct machine_time {
        double total = 0;
        double busy = 0;
    };

    static machine_time now();

    machine_time start_;
    double own_;
};

}  // namespace wordcount
