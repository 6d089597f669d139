// idle.h: the cost of an idle process.
#pragma once

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "measurement.h"

namespace bench {

// The context switches of each of the process's threads so far.
using switch_counts = std::map<int, int64_t>;

inline switch_counts read_switches() {
    switch_counts result;
    DIR* folder = opendir("/proc/self/task");
    check(folder != nullptr, "idle: /proc/self/task");
    while (const dirent* entry = readdir(folder)) {
        const int thread = std::atoi(entry->d_name);
        const std::string path = std::string("/proc/self/task/") + entry->d_name + "/status";
        std::FILE* status = thread == 0 ? nullptr : std::fopen(path.c_str(), "r");
        if (status == nullptr) continue;
        char line[256];
        while (std::fgets(line, sizeof line, status) != nullptr) {
            int64_t count = 0;
            if (std::sscanf(line, "voluntary_ctxt_switches: %" SCNd64, &count) == 1) result[thread] += count;
            if (std::sscanf(line, "nonvoluntary_ctxt_switches: %" SCNd64, &count) == 1) result[thread] += count;
        }
        std::fclose(status);
    }
    closedir(folder);
    check(!result.empty(), "idle: threads have counts");
    return result;
}

inline int64_t own_cpu_ns() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

// K tasks have worked and slept, and wait on a channel. After two seconds a plain OS thread
// observes the other threads for N ms: how often they run, and their CPU time.
template <typename Runtime>
measurement run_idle(const run_arguments& arguments) {
    constexpr int64_t settle_ns = 2'000'000'000;
    auto gate = Runtime::template make_buffered<int64_t>(2);
    typename Runtime::wait_group done;
    std::atomic<int64_t> ended{0};
    done.add(arguments.k);
    for (int64_t i = 0; i < arguments.k; ++i) {
        Runtime::go([&] {
            for (int turn = 0; turn < 100; ++turn) Runtime::yield();
            Runtime::sleep_for(1'000'000);
            int64_t nothing = 0;
            check(!gate.recv(nothing), "idle: the gate carries nothing");
            ended.fetch_add(1);
            done.done();
        });
    }
    int64_t switches = 0;
    int64_t used_ns = 0;
    double seconds = 0;
    std::thread watcher([&] {
        const auto sleep_ns = [](int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); };
        const int self = static_cast<int>(gettid());
        sleep_ns(settle_ns);
        check(ended.load() == 0, "idle: every task waits");
        const int64_t begin = now_ns();
        const int64_t cpu_before = cpu_ns() - own_cpu_ns();
        const switch_counts before = read_switches();
        sleep_ns(arguments.n * 1'000'000);
        const switch_counts after = read_switches();
        used_ns =
            std::max<int64_t>(0, cpu_ns() - own_cpu_ns() - cpu_before);  // The clocks are read one after the other.
        seconds = static_cast<double>(now_ns() - begin) / 1e9;
        for (const auto& [thread, count] : after) {
            const auto earlier = before.find(thread);
            if (thread != self) switches += count - (earlier == before.end() ? 0 : earlier->second);
        }
        gate.close();
    });
    done.wait();
    watcher.join();

    measurement result;
    result.add("switches_per_s", static_cast<double>(switches) / seconds);
    result.add("cpu_percent", static_cast<double>(used_ns) / 1e7 / seconds);
    return result;
}

}  // namespace bench
