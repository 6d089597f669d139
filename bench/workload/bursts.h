// bursts.h: many tasks at once, then few: the memory the process keeps, and the cost of the next
// burst.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>

#include "measurement.h"

namespace bench {

// Starts that many tasks, which park on one channel. Releases them once all have parked, and waits
// for their ends. Returns the resident size while parked, if requested.
template <typename Runtime>
int64_t burst(int64_t tasks, bool look) {
    using channel = typename Runtime::template unbuffered<int64_t>;
    channel gate = Runtime::template make_unbuffered<int64_t>();
    typename Runtime::wait_group parked;
    typename Runtime::wait_group done;
    std::atomic<int64_t> arrived{0};
    std::atomic<int64_t> woken{0};
    parked.add(1);
    done.add(tasks);
    for (int64_t i = 0; i < tasks; ++i) {
        Runtime::go([&] {
            if (arrived.fetch_add(1) + 1 == tasks) parked.done();
            int64_t value = 0;
            if (!gate.recv(value)) woken.fetch_add(1, std::memory_order_relaxed);
            done.done();
        });
    }
    parked.wait();
    const int64_t resident = look ? read_memory().resident_bytes : 0;
    gate.close();
    done.wait();
    check(woken.load() == tasks, "burst: the close wakes every task");
    return resident;
}

// N tasks park and end, then nothing happens. Resident memory before, at the peak, and some seconds
// after.
template <typename Runtime>
measurement run_after_burst(const run_arguments& arguments) {
    constexpr int64_t second_ns = 1'000'000'000;
    const auto mib = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    measurement result;
    result.add("before_mib", mib(read_memory().resident_bytes));
    result.add("peak_mib", mib(burst<Runtime>(arguments.n, true)));
    const int64_t end = now_ns();
    for (const int64_t seconds : {1, 2, 3, 4, 5, 6, 8, 10, 15}) {
        Runtime::sleep_for(std::max<int64_t>(end + seconds * second_ns - now_ns(), 0));
        result.add(("mib_at_" + std::to_string(seconds)).c_str(), mib(read_memory().resident_bytes));
    }
    result.add("page_table_mib", mib(read_memory().page_table_bytes));
    return result;
}

// Every 100 ms, N times, K tasks and then 10: the time per task of the K.
template <typename Runtime>
measurement run_oscillate(const run_arguments& arguments) {
    constexpr int64_t period_ns = 100'000'000;
    static_cast<void>(burst<Runtime>(arguments.k, false));  // warm up
    int64_t busy_ns = 0;
    for (int64_t i = 0; i < arguments.n; ++i) {
        const int64_t begin = now_ns();
        static_cast<void>(burst<Runtime>(arguments.k, false));
        const int64_t ended = now_ns();
        busy_ns += ended - begin;
        static_cast<void>(burst<Runtime>(10, false));
        Runtime::sleep_for(std::max<int64_t>(begin + period_ns - now_ns(), 0));
    }
    measurement result;
    result.add_per_op("ns_per_op", busy_ns, arguments.n * arguments.k);
    result.add("resident_mib", static_cast<double>(read_memory().resident_bytes) / (1 << 20));
    return result;
}

}  // namespace bench
