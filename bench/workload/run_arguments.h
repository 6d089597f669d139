// run_arguments.h: the command line of every benchmark program.
//
//     PROGRAM WORKLOAD --p P --n N [--k K] [--cap C] [--reps R]
//
// P is the number of scheduler threads, N the number of operations, K the number of tasks (or a
// batch's size), C a channel's capacity, R the repetitions in one process. The Go and Rust programs
// read the same line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace bench {

struct run_arguments {
    std::string workload;
    int p = 1;
    int64_t n = 1'000'000;
    int64_t k = 1;
    int64_t cap = 0;
    int reps = 1;
};

// Ends the process with exit code 1: the timed work was wrong.
[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "bench: wrong result: %s\n", what);
    std::exit(1);
}

inline void check(bool ok, const char* what) {
    if (!ok) fail(what);
}

// Ends the process with exit code 2 if it does not understand the command line.
inline run_arguments parse_arguments(int argc, char** argv) {
    run_arguments arguments;
    if (argc >= 2) arguments.workload = argv[1];
    bool ok = argc >= 2 && argc % 2 == 0;
    for (int i = 2; ok && i + 1 < argc; i += 2) {
        const char* name = argv[i];
        char* end = nullptr;
        const int64_t value = std::strtoll(argv[i + 1], &end, 10);
        ok = *end == '\0' && value >= 0;
        if (std::strcmp(name, "--p") == 0) {
            arguments.p = static_cast<int>(value);
        } else if (std::strcmp(name, "--n") == 0) {
            arguments.n = value;
        } else if (std::strcmp(name, "--k") == 0) {
            arguments.k = value;
        } else if (std::strcmp(name, "--cap") == 0) {
            arguments.cap = value;
        } else if (std::strcmp(name, "--reps") == 0) {
            arguments.reps = static_cast<int>(value);
        } else {
            ok = false;
        }
    }
    ok = ok && arguments.p >= 1 && arguments.n >= 1 && arguments.k >= 1 && arguments.reps >= 1;
    if (!ok) {
        std::fprintf(stderr, "usage: %s WORKLOAD --p P --n N [--k K] [--cap C] [--reps R]\n", argv[0]);
        std::exit(2);
    }
    return arguments;
}

}  // namespace bench
