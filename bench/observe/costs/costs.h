// costs.h: the workloads of observe_costs.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "measurement.h"
#include "run_arguments.h"

namespace bench {

// Each does its work with n green threads or events, and returns its figures.
measurement run_export_pingpong(const run_arguments& arguments);
measurement run_export_mixed(const run_arguments& arguments);
measurement run_dump(const run_arguments& arguments);
measurement run_dump_delays_pingpong(const run_arguments& arguments);
measurement run_dump_delays_hogs(const run_arguments& arguments);
measurement run_goroutine_profile(const run_arguments& arguments);
measurement run_page_state(const run_arguments& arguments);

// A file without a name, for output that is not read.
class unnamed_file {
public:
    unnamed_file() : file_(std::tmpfile()) {
        if (file_ == nullptr) fail("cannot create a temporary file");
    }

    ~unnamed_file() { std::fclose(file_); }

    unnamed_file(const unnamed_file&) = delete;
    unnamed_file& operator=(const unnamed_file&) = delete;

    [[nodiscard]] int fd() const { return ::fileno(file_); }

    [[nodiscard]] int64_t bytes() const { return ::lseek(fd(), 0, SEEK_END); }

private:
    std::FILE* file_;
};

// CPU time of the calling thread.
inline int64_t thread_cpu_ns() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

// Wall time and CPU time since it was made. CPU time is that of the process and of its ended
// children.
class stopwatch {
public:
    [[nodiscard]] double wall_s() const { return seconds(now_ns() - wall_); }

    [[nodiscard]] double cpu_s() const { return seconds(used_ns() - cpu_); }

private:
    static double seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

    static int64_t used_ns() {
        rusage children{};
        getrusage(RUSAGE_CHILDREN, &children);
        const auto ns = [](const timeval& t) { return (int64_t{t.tv_sec} * 1'000'000 + t.tv_usec) * 1000; };
        return cpu_ns() + ns(children.ru_utime) + ns(children.ru_stime);
    }

    int64_t wall_ = now_ns();
    int64_t cpu_ = used_ns();
};

}  // namespace bench
