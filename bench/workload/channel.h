// channel.h: two or more tasks, and the channels between them.
#pragma once

#include <atomic>
#include <utility>

#include "measurement.h"

namespace bench {

// Calls body with a function that makes a channel of int64_t with that capacity. In some libraries
// capacity 0 is a separate type.
template <typename Runtime, typename Body>
void with_capacity(int64_t capacity, Body body) {
    if (capacity == 0) {
        body([] { return Runtime::template make_unbuffered<int64_t>(); });
    } else {
        body([capacity] { return Runtime::template make_buffered<int64_t>(capacity); });
    }
}

// Two tasks send one value back and forth, N round trips; the echo adds one.
template <typename Runtime>
measurement run_pingpong(const run_arguments& arguments) {
    int64_t elapsed = 0;
    with_capacity<Runtime>(arguments.cap, [&](auto make_channel) {
        const auto play = [&](int64_t rounds) {
            auto ping = make_channel();
            auto pong = make_channel();
            typename Runtime::wait_group done;
            done.add(2);
            Runtime::go([&] {
                int64_t value = 0;
                while (ping.recv(value)) pong.send(value + 1);
                done.done();
            });
            Runtime::go([&] {
                const int64_t begin = now_ns();
                for (int64_t i = 0; i < rounds; ++i) {
                    int64_t value = 0;
                    ping.send(i);
                    check(pong.recv(value) && value == i + 1, "pingpong: the echo of what was sent");
                }
                elapsed = now_ns() - begin;
                ping.close();
                done.done();
            });
            done.wait();
        };
        play(arguments.n / 10 + 1);
        play(arguments.n);
    });

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n);
    return result;
}

// K producers share N sends, K consumers share the receives. The last producer closes the channel.
// K = 1 is a plain stream.
template <typename Runtime>
measurement run_mpmc(const run_arguments& arguments) {
    const int64_t pairs = arguments.k;
    int64_t elapsed = 0;
    with_capacity<Runtime>(arguments.cap, [&](auto make_channel) {
        const auto transfer = [&](int64_t messages) {
            const int64_t each = messages / pairs;
            auto channel = make_channel();
            typename Runtime::wait_group produced;
            typename Runtime::wait_group consumed;
            std::atomic<int64_t> sum{0};
            std::atomic<int64_t> count{0};
            produced.add(pairs);
            consumed.add(pairs);

            const int64_t begin = now_ns();
            for (int64_t i = 0; i < pairs; ++i) {
                Runtime::go([&] {
                    int64_t value = 0;
                    int64_t my_sum = 0;
                    int64_t my_count = 0;
                    while (channel.recv(value)) {
                        my_sum += value;
                        ++my_count;
                    }
                    sum.fetch_add(my_sum);
                    count.fetch_add(my_count);
                    consumed.done();
                });
            }
            for (int64_t i = 0; i < pairs; ++i) {
                Runtime::go([&, i] {
                    for (int64_t j = 0; j < each; ++j) channel.send(i * each + j);
                    produced.done();
                });
            }
            produced.wait();
            channel.close();
            consumed.wait();
            elapsed = now_ns() - begin;

            const int64_t total = each * pairs;
            check(count.load() == total, "mpmc: every message arrives once");
            check(sum.load() == total * (total - 1) / 2, "mpmc: the sum of the messages");
        };
        transfer(arguments.n / 10 + pairs);
        transfer(arguments.n);
    });

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n / pairs * pairs);
    return result;
}

}  // namespace bench
