// compare.h: two ways to do the same requests, measured in turn in one process.
//
// Each round runs both, one after the other, so what disturbs the machine disturbs both. Printed
// are the medians of the rounds, and the median of the ratios of each round.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace bench {

// What a program compares: callers that do a number of requests each.
struct load {
    std::size_t callers = 100;
    std::size_t requests = 200;  // of each caller
    int rounds = 9;

    // The arguments after the address: CALLERS REQUESTS ROUNDS.
    static load of(int argc, char** argv) {
        load l;
        if (argc > 2) l.callers = std::strtoul(argv[2], nullptr, 10);
        if (argc > 3) l.requests = std::strtoul(argv[3], nullptr, 10);
        if (argc > 4) l.rounds = std::atoi(argv[4]);
        return l;
    }
};

struct cost {
    double wall_us = 0;  // for one request
    double cpu_us = 0;   // of this process, for one request
};

inline double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Measures f, which does that many requests.
template <typename F>
cost measure(std::size_t requests, F f) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    f();
    const double used = cpu_seconds() - cpu;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    const auto n = static_cast<double>(requests);
    return {wall.count() / n * 1e6, used / n * 1e6};
}

inline double median(std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return of[of.size() / 2];
}

// Calls f(i) in a thread of its own for each i below count.
template <typename F>
void in_threads(std::size_t count, F f) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&f, i] { f(i); });
    for (std::thread& t : threads) t.join();
}

// Both do all requests of l. Each is called once before, which makes its connections.
template <typename A, typename B>
void compare(const load& l, const char* name_of_a, A a, const char* name_of_b, B b) {
    const std::size_t requests = l.callers * l.requests;
    std::vector<double> wall_a, wall_b, cpu_a, cpu_b, wall_ratio, cpu_ratio;
    a();
    b();
    for (int i = 0; i < l.rounds; ++i) {
        const cost of_a = measure(requests, a);
        const cost of_b = measure(requests, b);
        wall_a.push_back(of_a.wall_us);
        wall_b.push_back(of_b.wall_us);
        cpu_a.push_back(of_a.cpu_us);
        cpu_b.push_back(of_b.cpu_us);
        wall_ratio.push_back(of_a.wall_us / of_b.wall_us);
        cpu_ratio.push_back(of_a.cpu_us / of_b.cpu_us);
    }
    std::printf("%-34s %7.2f us a request, %7.2f us of CPU\n", name_of_a, median(wall_a), median(cpu_a));
    std::printf("%-34s %7.2f us a request, %7.2f us of CPU\n", name_of_b, median(wall_b), median(cpu_b));
    std::printf("ratio: %.2f, of CPU: %.2f (%zu callers, %zu requests each, medians of %d rounds)\n",
                median(wall_ratio), median(cpu_ratio), l.callers, l.requests, l.rounds);
}

}  // namespace bench
