// spawn.h: starting tasks: one by one, in batches, and a crowd that blocks.
#pragma once

#include <atomic>

#include "measurement.h"

namespace bench {

// Spawns an empty task and joins it, N times.
template <typename Runtime>
measurement run_spawn_join(const run_arguments& arguments) {
    int64_t ran = 0;  // Plain: each join happens before the next spawn.
    const auto spawn_many = [&](int64_t count) {
        for (int64_t i = 0; i < count; ++i) Runtime::spawn_and_join([&ran] { ++ran; });
    };
    const int64_t warm_up = arguments.n / 10;
    spawn_many(warm_up);

    const int64_t begin = now_ns();
    spawn_many(arguments.n);
    const int64_t end = now_ns();
    check(ran == warm_up + arguments.n, "spawn_join: every task ran once");

    measurement result;
    result.add_per_op("ns_per_op", end - begin, arguments.n);
    return result;
}

// Spawns K empty tasks and joins them, N/K times. The cold first batch is reported separately; it
// shows what a task costs before it runs (P=1 only, where the spawner is still running).
template <typename Runtime>
measurement run_spawn_batch(const run_arguments& arguments) {
    const int64_t batch = arguments.k;
    const int64_t batches = arguments.n / batch;
    check(batches >= 1, "spawn_batch needs n >= k");

    memory unstarted;
    const auto spawn_batch = [&](bool look_at_memory) {
        typename Runtime::wait_group done;
        done.add(batch);
        for (int64_t i = 0; i < batch; ++i) Runtime::go([&done] { done.done(); });
        if (look_at_memory) unstarted = read_memory();
        done.wait();  // Returns after exactly `batch` calls of done.
    };

    const memory before = read_memory();
    const int64_t cold = now_ns();
    spawn_batch(true);
    const int64_t begin = now_ns();
    for (int64_t i = 0; i < batches; ++i) spawn_batch(false);
    const int64_t end = now_ns();

    measurement result;
    result.add_per_op("ns_per_op", end - begin, batches * batch);
    result.add_per_op("cold_ns", begin - cold, batch);
    result.add_per_op("unstarted_bytes", unstarted.resident_bytes - before.resident_bytes, batch);
    result.add("peak_mib", static_cast<double>(read_memory().peak_bytes) / (1 << 20));
    return result;
}

// N tasks park on one channel, which is then closed. Two rounds: the first one touches new memory
// (cold), the second does not (warm).
template <typename Runtime>
measurement run_spawn_block(const run_arguments& arguments) {
    using channel = typename Runtime::template unbuffered<int64_t>;
    const int64_t tasks = arguments.n;
    measurement result;

    for (const bool cold : {true, false}) {
        channel gate = Runtime::template make_unbuffered<int64_t>();
        typename Runtime::wait_group parked;
        typename Runtime::wait_group done;
        std::atomic<int64_t> arrived{0};
        std::atomic<int64_t> woken{0};
        parked.add(1);
        done.add(tasks);

        const memory before = read_memory();
        const int64_t begin = now_ns();
        for (int64_t i = 0; i < tasks; ++i) {
            Runtime::go([&] {
                if (arrived.fetch_add(1) + 1 == tasks) parked.done();
                int64_t value = 0;
                if (!gate.recv(value)) woken.fetch_add(1, std::memory_order_relaxed);
                done.done();
            });
        }
        parked.wait();
        const int64_t created = now_ns();
        const memory during = read_memory();
        const int64_t release = now_ns();
        gate.close();
        done.wait();
        const int64_t end = now_ns();
        check(woken.load() == tasks, "spawn_block: the close wakes every task");

        const int64_t resident = during.resident_bytes - before.resident_bytes;
        const int64_t page_tables = during.page_table_bytes - before.page_table_bytes;
        const int64_t both = (created - begin) + (end - release);
        if (cold) {
            result.add_per_op("cold_create_ns", created - begin, tasks);
            result.add_per_op("cold_release_ns", end - release, tasks);
            result.add_per_op("cold_ns", both, tasks);
            result.add_per_op("parked_bytes", resident, tasks);
            result.add_per_op("page_table_bytes", page_tables, tasks);
        } else {
            result.add_per_op("create_ns", created - begin, tasks);
            result.add_per_op("release_ns", end - release, tasks);
            result.add_per_op("ns_per_op", both, tasks);
        }
    }
    return result;
}

}  // namespace bench
