// waiters.h: one channel on which K tasks wait.
//
// The cost of serving each of them by a send, a receive and a close, until all have ended; starting
// and parking excluded. N/K rounds of each.
#pragma once

#include <atomic>

#include "measurement.h"

namespace bench {

// Starts K tasks that each run wait() once, and lets them park. Returns the time of release() until
// all have ended.
template <typename Runtime, typename Wait, typename Release>
int64_t time_release(int64_t tasks, Wait wait, Release release) {
    typename Runtime::wait_group parked;
    typename Runtime::wait_group done;
    std::atomic<int64_t> arrived{0};
    parked.add(1);
    done.add(tasks);
    for (int64_t i = 0; i < tasks; ++i) {
        Runtime::go([&, i] {
            if (arrived.fetch_add(1) + 1 == tasks) parked.done();
            wait(i);
            done.done();
        });
    }
    parked.wait();
    const int64_t begin = now_ns();
    release();
    done.wait();
    return now_ns() - begin;
}

template <typename Runtime>
measurement run_chan_waiters(const run_arguments& arguments) {
    const int64_t tasks = arguments.k;
    const int64_t rounds = arguments.n / tasks;
    check(rounds >= 1, "chan_waiters needs n >= k");
    int64_t send_ns = 0;
    int64_t recv_ns = 0;
    int64_t close_ns = 0;
    for (int64_t round = -1; round < rounds; ++round) {
        if (round == 0) send_ns = recv_ns = close_ns = 0;  // The first round only warms up.
        std::atomic<int64_t> sum{0};
        const int64_t expected = tasks * (tasks - 1) / 2;

        auto sends = Runtime::template make_unbuffered<int64_t>();
        const auto receive_one = [&](int64_t) {
            int64_t value = 0;
            check(sends.recv(value), "chan_waiters: a value for each receiver");
            sum.fetch_add(value, std::memory_order_relaxed);
        };
        send_ns += time_release<Runtime>(tasks, receive_one, [&] {
            for (int64_t i = 0; i < tasks; ++i) sends.send(i);
        });
        check(sum.exchange(0) == expected, "chan_waiters: what was sent was received");

        auto recvs = Runtime::template make_unbuffered<int64_t>();
        recv_ns += time_release<Runtime>(
            tasks, [&](int64_t i) { recvs.send(i); },
            [&] {
                for (int64_t i = 0; i < tasks; ++i) {
                    int64_t value = 0;
                    check(recvs.recv(value), "chan_waiters: a value from each sender");
                    sum.fetch_add(value, std::memory_order_relaxed);
                }
            });
        check(sum.exchange(0) == expected, "chan_waiters: what was received was sent");

        auto closed = Runtime::template make_unbuffered<int64_t>();
        const auto see_close = [&](int64_t) {
            int64_t nothing = 0;
            check(!closed.recv(nothing), "chan_waiters: the channel is closed");
            sum.fetch_add(1, std::memory_order_relaxed);
        };
        close_ns += time_release<Runtime>(tasks, see_close, [&] { closed.close(); });
        check(sum.load() == tasks, "chan_waiters: the close wakes every task");
    }

    measurement result;
    result.add_per_op("ns_per_op", send_ns + recv_ns + close_ns, rounds * tasks);
    result.add_per_op("send_ns", send_ns, rounds * tasks);
    result.add_per_op("recv_ns", recv_ns, rounds * tasks);
    result.add_per_op("close_ns", close_ns, rounds * tasks);
    return result;
}

}  // namespace bench
