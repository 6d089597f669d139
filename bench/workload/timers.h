// timers.h: timers with a function: started and stopped, postponed, and fired.
//
// C other timers are pending. None of them, nor of the measured ones, is due within the hour.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "measurement.h"
#include "random.h"
#include "samples.h"

namespace bench {

constexpr int64_t hour_ns = int64_t{3600} * 1'000'000'000;

// The i-th deadline, relative to now: between one hour and two.
constexpr int64_t far_off_ns(int64_t i) { return hour_ns + random_below(i, hour_ns); }

template <typename Runtime>
std::vector<typename Runtime::timer> pending_timers(int64_t count) {
    std::vector<typename Runtime::timer> timers;
    timers.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
        timers.push_back(Runtime::after(far_off_ns(i), [] { fail("timers: one fired an hour early"); }));
    }
    return timers;
}

template <typename Runtime>
void stop_all(std::vector<typename Runtime::timer>& timers) {
    for (typename Runtime::timer& timer : timers) check(timer.stop(), "timers: still pending at the end");
}

// Starts a timer and stops it, N times, while C others are pending.
template <typename Runtime>
measurement run_timer_add_stop(const run_arguments& arguments) {
    auto pending = pending_timers<Runtime>(arguments.cap);
    const auto add_and_stop = [&](int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
            auto timer = Runtime::after(far_off_ns(~i), [] { fail("timers: one fired an hour early"); });
            check(timer.stop(), "timer_add_stop: stopped before it fired");
        }
    };
    add_and_stop(arguments.n / 10 + 1);
    const int64_t begin = now_ns();
    add_and_stop(arguments.n);
    const int64_t elapsed = now_ns() - begin;
    stop_all<Runtime>(pending);

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n);
    return result;
}

// Gives a random one of C pending timers (of one, if C is 0) another deadline, N times.
template <typename Runtime>
measurement run_timer_reset(const run_arguments& arguments) {
    const int64_t count = std::max<int64_t>(arguments.cap, 1);
    auto pending = pending_timers<Runtime>(count);
    const auto put_off = [&](int64_t times) {
        for (int64_t i = 0; i < times; ++i) {
            auto& timer = pending[static_cast<size_t>(random_below(i, count))];
            check(timer.reset(far_off_ns(~i)), "timer_reset: pending before");
        }
    };
    put_off(arguments.n / 10 + 1);
    const int64_t begin = now_ns();
    put_off(arguments.n);
    const int64_t elapsed = now_ns() - begin;
    stop_all<Runtime>(pending);

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n);
    return result;
}

// N timers, due at random within N microseconds and started before the first is due, all fire. A
// small N is measured in many rounds. arm_ns is the time to start one. fire_ns is the CPU time of
// all threads per timer, from the last start to the end.
template <typename Runtime>
measurement run_timer_fire(const run_arguments& arguments) {
    constexpr int64_t apart_ns = 1000;
    const int64_t count = arguments.n;
    const int64_t rounds = std::clamp<int64_t>(20'000 / count, 1, 1000);
    const int64_t lead_ns = 200'000 + 2 * apart_ns * count;
    std::vector<int64_t> late(static_cast<size_t>(count));
    samples lateness(rounds * count);
    int64_t arming_ns = 0;
    int64_t firing_cpu_ns = 0;
    const int64_t cpu_before = cpu_ns();

    for (int64_t round = 0; round < rounds; ++round) {
        std::vector<typename Runtime::timer> timers;
        timers.reserve(static_cast<size_t>(count));
        std::atomic<int64_t> fired{0};
        typename Runtime::wait_group done;
        done.add(1);
        const int64_t first_due = now_ns() + lead_ns;
        for (int64_t i = 0; i < count; ++i) {
            const int64_t due = first_due + random_below(i + round, count) * apart_ns;
            timers.push_back(Runtime::after(due - now_ns(), [&late, &fired, &done, i, due, count] {
                late[static_cast<size_t>(i)] = now_ns() - due;
                if (fired.fetch_add(1) + 1 == count) done.done();
            }));
        }
        arming_ns += now_ns() - (first_due - lead_ns);
        const int64_t cpu_armed = cpu_ns();
        done.wait();
        firing_cpu_ns += cpu_ns() - cpu_armed;
        for (const int64_t ns : late) {
            check(ns >= 0, "timer_fire: none is early");
            lateness.add(ns);
        }
    }

    measurement result;
    lateness.report(result, "us", 1e3);
    result.add("cpu_s", static_cast<double>(cpu_ns() - cpu_before) / 1e9);
    result.add_per_op("arm_ns", arming_ns, rounds * count);
    result.add_per_op("fire_ns", firing_cpu_ns, rounds * count);
    return result;
}

}  // namespace bench
