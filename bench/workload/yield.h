// yield.h: K tasks yield to each other.
//
// All start and park on a channel, whose close releases them together: stacks are bound, and the
// spawner does not take part. They yield until the last one is awake, so the queue has its full
// length when the clock starts. Then each yields exactly N/K times.
#pragma once

#include <atomic>

#include "measurement.h"

namespace bench {

template <typename Runtime>
measurement run_yield(const run_arguments& arguments) {
    const int64_t tasks = arguments.k;
    const int64_t each = arguments.n / tasks;
    check(each >= 1, "yield needs n >= k");

    auto gate = Runtime::template make_unbuffered<int64_t>();
    std::atomic<int64_t> started{0};
    std::atomic<int64_t> awake{0};
    std::atomic<int64_t> finished{0};
    std::atomic<bool> open{false};
    int64_t begin = 0;
    int64_t end = 0;

    typename Runtime::wait_group parked;
    typename Runtime::wait_group done;
    parked.add(1);
    done.add(tasks);
    for (int64_t i = 0; i < tasks; ++i) {
        Runtime::go([&] {
            if (started.fetch_add(1) + 1 == tasks) parked.done();
            int64_t nothing = 0;
            check(!gate.recv(nothing), "yield: the gate carries nothing");
            if (awake.fetch_add(1) + 1 == tasks) {
                begin = now_ns();
                open.store(true, std::memory_order_release);
            }
            while (!open.load(std::memory_order_acquire)) Runtime::yield();
            for (int64_t turn = 0; turn < each; ++turn) Runtime::yield();
            if (finished.fetch_add(1) + 1 == tasks) end = now_ns();
            done.done();
        });
    }
    parked.wait();
    gate.close();
    done.wait();
    check(finished.load() == tasks, "yield: every task finishes once");

    measurement result;
    result.add_per_op("ns_per_op", end - begin, each * tasks);
    return result;
}

}  // namespace bench
