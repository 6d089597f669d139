// measure.h: what a piece of work cost: time, processor time, memory.
#pragma once

#include <chrono>
#include <cstdint>

namespace wordcount {

struct cost {
    double seconds = 0;
    double cpu_seconds = 0;        // user and system, of all threads
    std::uint64_t peak_bytes = 0;  // how far the resident memory rose above where it stood at the start
};

// Measures from its making to done().
class meter {
public:
    // Gives free memory back to the system and resets the kernel's high-water mark first.
    meter();

    [[nodiscard]] cost done() const;

private:
    using clock = std::chrono::steady_clock;

    std::uint64_t resident_;
    double cpu_;
    clock::time_point start_;
};

// What other programs do to our measurements, from its making to now.
class neighbours {
public:
    neighbours();

    // The part of all processors' time, 0 to 1, that somebody else has used.
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
