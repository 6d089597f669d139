// mutex.h: K tasks share one lock and one plain counter.
#pragma once

#include "measurement.h"

namespace bench {

template <typename Runtime>
measurement run_mutex(const run_arguments& arguments) {
    const int64_t tasks = arguments.k;
    int64_t elapsed = 0;
    const auto contend = [&](int64_t total) {
        const int64_t each = total / tasks;
        typename Runtime::mutex lock;
        int64_t counter = 0;
        typename Runtime::wait_group done;
        done.add(tasks);
        const int64_t begin = now_ns();
        for (int64_t i = 0; i < tasks; ++i) {
            Runtime::go([&] {
                for (int64_t j = 0; j < each; ++j) {
                    lock.lock();
                    ++counter;
                    lock.unlock();
                }
                done.done();
            });
        }
        done.wait();
        elapsed = now_ns() - begin;
        check(counter == each * tasks, "mutex: no increment is lost");
    };
    contend(arguments.n / 10 + tasks);
    contend(arguments.n);

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n / tasks * tasks);
    return result;
}

}  // namespace bench
