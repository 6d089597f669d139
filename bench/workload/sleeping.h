// sleeping.h: how late a sleeper wakes, and the cost of many short sleepers.
#pragma once

#include <algorithm>
#include <atomic>

#include "measurement.h"
#include "samples.h"

namespace bench {

// One task sleeps K microseconds, N times; nothing else runs.
template <typename Runtime>
measurement run_sleep_precision(const run_arguments& arguments) {
    const int64_t asked_ns = arguments.k * 1000;
    samples overshoot(arguments.n);
    for (int64_t i = 0; i < arguments.n; ++i) {
        const int64_t begin = now_ns();
        Runtime::sleep_for(asked_ns);
        const int64_t slept = now_ns() - begin;
        check(slept >= asked_ns, "sleep_precision: not shorter than asked for");
        overshoot.add(slept - asked_ns);
    }
    measurement result;
    overshoot.report(result, "us", 1e3);
    return result;
}

// K tasks sleep 500, 510, 520 … microseconds repeatedly, for N milliseconds. wakes_per_s is how
// often a thread of the process went to sleep.
template <typename Runtime>
measurement run_sleep_staggered(const run_arguments& arguments) {
    std::atomic<int64_t> sleeps{0};
    typename Runtime::wait_group done;
    done.add(arguments.k);
    const int64_t cpu_before = cpu_ns();
    const int64_t switches_before = voluntary_switches();
    const int64_t begin = now_ns();
    const int64_t end = begin + arguments.n * 1'000'000;
    for (int64_t i = 0; i < arguments.k; ++i) {
        Runtime::go([&, i] {
            const int64_t asked_ns = (500 + 10 * i) * 1000;
            int64_t mine = 0;
            for (; now_ns() < end; ++mine) Runtime::sleep_for(asked_ns);
            check(mine > 0 && mine <= (end - begin) / asked_ns + 1, "sleep_staggered: as often as there is time for");
            sleeps.fetch_add(mine);
            done.done();
        });
    }
    done.wait();
    const auto seconds = static_cast<double>(now_ns() - begin) / 1e9;

    measurement result;
    result.add("cpu_percent", static_cast<double>(cpu_ns() - cpu_before) / 1e7 / seconds);
    result.add("sleeps_per_s", static_cast<double>(sleeps.load()) / seconds);
    result.add("wakes_per_s", static_cast<double>(voluntary_switches() - switches_before) / seconds);
    return result;
}

}  // namespace bench
