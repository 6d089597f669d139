// wake.h: the time between waking a task and its running: one task in three situations, and a
// crowd.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "locks.h"
#include "measurement.h"
#include "samples.h"

namespace bench {

// The waker sends the time through a channel and parks; both alternate on one P.
template <typename Runtime>
measurement run_wake_same(const run_arguments& arguments) {
    samples latency(arguments.n);
    auto call = Runtime::template make_unbuffered<int64_t>();
    auto answer = Runtime::template make_unbuffered<int64_t>();
    typename Runtime::wait_group done;
    done.add(1);
    Runtime::go([&] {
        int64_t sent = 0;
        while (call.recv(sent)) {
            latency.add(now_ns() - sent);
            answer.send(0);
        }
        done.done();
    });
    for (int64_t i = 0; i < arguments.n; ++i) {
        int64_t nothing = 0;
        call.send(now_ns());
        check(answer.recv(nothing), "wake_same: an answer to every call");
    }
    call.close();
    done.wait();
    check(latency.count() == arguments.n, "wake_same: every call arrived");

    measurement result;
    latency.report(result, "ns", 1);
    return result;
}

// The waker computes for 200 us, or until the other has run, so another P must fetch it. The other
// parked C ns before, which decides whether that P's thread still searches or already sleeps. After
// that the waker yields.
template <typename Runtime>
measurement run_wake_busy(const run_arguments& arguments) {
    const int64_t pause_ns = arguments.cap;
    constexpr int64_t patience_ns = 200'000;
    samples latency(arguments.n);
    std::atomic<int64_t> answered{0};
    auto call = Runtime::template make_buffered<int64_t>(2);
    typename Runtime::wait_group done;
    done.add(1);
    Runtime::go([&] {
        int64_t sent = 0;
        while (call.recv(sent)) {
            latency.add(now_ns() - sent);
            answered.fetch_add(1);
        }
        done.done();
    });
    for (int64_t i = 0; i < arguments.n; ++i) {
        spin_for(pause_ns);
        const int64_t begin = now_ns();
        call.send(begin);
        while (answered.load() <= i) {
            if (now_ns() - begin > patience_ns) Runtime::yield();
        }
    }
    call.close();
    done.wait();
    check(latency.count() == arguments.n, "wake_busy: every call arrived");

    measurement result;
    latency.report(result, "ns", 1);
    return result;
}

// Everything sleeps; a plain OS thread wakes the task every millisecond.
template <typename Runtime>
measurement run_wake_idle(const run_arguments& arguments) {
    samples latency(arguments.n);
    auto call = Runtime::template make_buffered<int64_t>(64);
    std::thread outside([&call, count = arguments.n] {
        for (int64_t i = 0; i < count; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            call.send(now_ns());
        }
        call.close();
    });
    int64_t sent = 0;
    while (call.recv(sent)) latency.add(now_ns() - sent);
    outside.join();
    check(latency.count() == arguments.n, "wake_idle: every call arrived");

    measurement result;
    latency.report(result, "ns", 1);
    return result;
}

// K tasks wait on a channel, which is closed; until the last of them runs. N/K rounds.
template <typename Runtime>
measurement run_fan_out(const run_arguments& arguments) {
    constexpr int64_t settle_ns = 20'000;
    const int64_t tasks = arguments.k;
    const int64_t rounds = arguments.n / tasks;
    check(rounds >= 1, "fan_out needs n >= k");
    samples until_last(rounds);
    int64_t os_wakes = 0;
    for (int64_t round = 0; round < rounds; ++round) {
        auto gate = Runtime::template make_unbuffered<int64_t>();
        typename Runtime::wait_group parked;
        typename Runtime::wait_group done;
        std::atomic<int64_t> arrived{0};
        std::atomic<int64_t> running{0};
        int64_t end = 0;
        parked.add(1);
        done.add(tasks);
        for (int64_t i = 0; i < tasks; ++i) {
            Runtime::go([&] {
                if (arrived.fetch_add(1) + 1 == tasks) parked.done();
                int64_t nothing = 0;
                check(!gate.recv(nothing), "fan_out: the gate carries nothing");
                if (running.fetch_add(1) + 1 == tasks) end = now_ns();
                done.done();
            });
        }
        parked.wait();
        spin_for(settle_ns);
        const int64_t wakes_before = Runtime::os_wakes();
        const int64_t begin = now_ns();
        gate.close();
        done.wait();
        os_wakes += Runtime::os_wakes() - wakes_before;
        until_last.add(end - begin);
    }

    measurement result;
    until_last.report(result, "us", 1e3);
    if (Runtime::counts_os_wakes) result.add_per_op("os_wakes", os_wakes, rounds);
    return result;
}

}  // namespace bench
