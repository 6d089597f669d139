// select.h: selects among several channels.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "measurement.h"

namespace bench {

constexpr int64_t select_batch = 128;

// N selects among four channels, one of which has values: 128 of them, then the next channel.
// Filling is not timed.
template <typename Runtime>
measurement run_select_ready(const run_arguments& arguments) {
    using channel = typename Runtime::template buffered<int64_t>;
    std::array<channel, 4> channels = {
        Runtime::template make_buffered<int64_t>(select_batch), Runtime::template make_buffered<int64_t>(select_batch),
        Runtime::template make_buffered<int64_t>(select_batch), Runtime::template make_buffered<int64_t>(select_batch)};
    const int64_t batches = arguments.n / select_batch + 1;
    std::array<int64_t, 4> sums{};
    const auto take = [&sums](size_t from) {
        return [&sums, from](std::optional<int64_t> value) { sums[from] += value.value_or(0); };
    };
    int64_t elapsed = 0;
    for (int64_t batch = -batches / 10; batch < batches; ++batch) {
        if (batch == 0) {
            elapsed = 0;
            sums = {};
        }
        channel& ready = channels[static_cast<size_t>(batch & 3)];
        for (int64_t i = 0; i < select_batch; ++i) ready.send(1);
        const int64_t begin = now_ns();
        for (int64_t i = 0; i < select_batch; ++i) {
            Runtime::select(Runtime::on_recv(channels[0], take(0)), Runtime::on_recv(channels[1], take(1)),
                            Runtime::on_recv(channels[2], take(2)), Runtime::on_recv(channels[3], take(3)));
        }
        elapsed += now_ns() - begin;
    }
    for (int64_t i = 0; i < 4; ++i) {
        const int64_t turns = (batches + 3 - i) / 4;
        check(sums[static_cast<size_t>(i)] == turns * select_batch, "select_ready: what each channel carried");
    }

    measurement result;
    result.add_per_op("ns_per_op", elapsed, batches * select_batch);
    return result;
}

// A producer sends N values to four unbuffered channels in turn. The consumer selects among them,
// and almost always waits.
template <typename Runtime>
measurement run_select_block(const run_arguments& arguments) {
    int64_t elapsed = 0;
    const auto transfer = [&](int64_t messages) {
        auto a = Runtime::template make_unbuffered<int64_t>();
        auto b = Runtime::template make_unbuffered<int64_t>();
        auto c = Runtime::template make_unbuffered<int64_t>();
        auto d = Runtime::template make_unbuffered<int64_t>();
        std::array<int64_t, 4> sums{};
        typename Runtime::wait_group done;
        done.add(1);
        const int64_t begin = now_ns();
        Runtime::go([&] {
            for (int64_t i = 0; i < messages; i += 4) {
                a.send(i);
                b.send(i + 1);
                c.send(i + 2);
                d.send(i + 3);
            }
            done.done();
        });
        const auto take = [&sums](size_t from) {
            return [&sums, from](std::optional<int64_t> value) { sums[from] += value.value_or(0); };
        };
        for (int64_t i = 0; i < messages; ++i) {
            Runtime::select(Runtime::on_recv(a, take(0)), Runtime::on_recv(b, take(1)), Runtime::on_recv(c, take(2)),
                            Runtime::on_recv(d, take(3)));
        }
        done.wait();
        elapsed = now_ns() - begin;
        const int64_t turns = messages / 4;
        for (int64_t i = 0; i < 4; ++i) {
            check(sums[static_cast<size_t>(i)] == 4 * (turns * (turns - 1) / 2) + i * turns,
                  "select_block: what each channel carried");
        }
    };
    transfer(arguments.n / 40 * 4 + 4);
    transfer(arguments.n / 4 * 4);

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n / 4 * 4);
    return result;
}

// N selects that find nothing ready and take the default; K cases, 1 or 4.
template <typename Runtime>
measurement run_select_default(const run_arguments& arguments) {
    check(arguments.k == 1 || arguments.k == 4, "select_default: k is 1 or 4");
    auto a = Runtime::template make_unbuffered<int64_t>();
    auto b = Runtime::template make_unbuffered<int64_t>();
    auto c = Runtime::template make_unbuffered<int64_t>();
    auto d = Runtime::template make_unbuffered<int64_t>();
    const auto never = [](const std::optional<int64_t>&) { fail("select_default: a value that no task sent"); };
    int64_t nothing = 0;
    const auto count = [&nothing] { ++nothing; };
    const int64_t begin = now_ns();
    if (arguments.k == 1) {
        for (int64_t i = 0; i < arguments.n; ++i) {
            Runtime::select(Runtime::on_recv(a, never), Runtime::otherwise(count));
        }
    } else {
        for (int64_t i = 0; i < arguments.n; ++i) {
            Runtime::select(Runtime::on_recv(a, never), Runtime::on_recv(b, never), Runtime::on_recv(c, never),
                            Runtime::on_recv(d, never), Runtime::otherwise(count));
        }
    }
    const int64_t elapsed = now_ns() - begin;
    check(nothing == arguments.n, "select_default: every select took the default");

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n);
    return result;
}

// Two tasks meet N times: one selects among sends on sixteen unbuffered channels, the other among
// receives on them.
template <typename Runtime>
measurement run_select_meet(const run_arguments& arguments) {
    constexpr size_t width = 16;
    using channel = typename Runtime::template unbuffered<int64_t>;
    int64_t elapsed = 0;
    const auto meet = [&](int64_t times) {
        std::vector<channel> channels;
        for (size_t i = 0; i < width; ++i) channels.push_back(Runtime::template make_unbuffered<int64_t>());
        int64_t sum = 0;
        typename Runtime::wait_group done;
        done.add(2);
        const int64_t begin = now_ns();
        Runtime::go([&] {
            const auto sent = [] {};
            for (int64_t i = 0; i < times; ++i) {
                [&]<size_t... At>(std::index_sequence<At...>) {
                    Runtime::select(Runtime::on_send(channels[At], i, sent)...);
                }(std::make_index_sequence<width>());
            }
            done.done();
        });
        Runtime::go([&] {
            const auto take = [&sum](std::optional<int64_t> value) { sum += value.value_or(0); };
            for (int64_t i = 0; i < times; ++i) {
                [&]<size_t... At>(std::index_sequence<At...>) {
                    Runtime::select(Runtime::on_recv(channels[At], take)...);
                }(std::make_index_sequence<width>());
            }
            done.done();
        });
        done.wait();
        elapsed = now_ns() - begin;
        check(sum == times * (times - 1) / 2, "select_meet: the sum of the messages");
    };
    meet(arguments.n / 10 + 1);
    meet(arguments.n);

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n);
    return result;
}

// N selects among K channels, a number known only at run time, one of which has values: 128 of
// them, then the next channel.
template <typename Runtime>
measurement run_select_width(const run_arguments& arguments) {
    using channel = typename Runtime::template buffered<int64_t>;
    const int64_t width = arguments.k;
    const int64_t batches = arguments.n / select_batch + 1;
    std::vector<channel> channels;
    typename Runtime::select_set set;
    int64_t sum = 0;
    for (int64_t i = 0; i < width; ++i) {
        channels.push_back(Runtime::template make_buffered<int64_t>(select_batch));
        set.add_recv(channels.back(), [&sum](std::optional<int64_t> value) { sum += value.value_or(0); });
    }
    int64_t elapsed = 0;
    int64_t expected = 0;
    for (int64_t batch = -batches / 10; batch < batches; ++batch) {
        if (batch == 0) elapsed = 0;
        channel& ready = channels[static_cast<size_t>((batch + batches) % width)];
        for (int64_t i = 0; i < select_batch; ++i) ready.send(batch + batches);
        expected += select_batch * (batch + batches);
        const int64_t begin = now_ns();
        for (int64_t i = 0; i < select_batch; ++i) set.wait();
        elapsed += now_ns() - begin;
    }
    check(sum == expected, "select_width: the sum of the messages");

    measurement result;
    result.add_per_op("ns_per_op", elapsed, batches * select_batch);
    result.add_per_op("case_ns", elapsed, batches * select_batch * width);
    return result;
}

// N times, a task waits on two channels. K others wait on the first for ever; the second always
// delivers. Each turn withdraws a waiter from a queue of K + 1, and hands over a value and a reply.
template <typename Runtime>
measurement run_withdraw(const run_arguments& arguments) {
    const int64_t tasks = arguments.k;
    auto crowded = Runtime::template make_unbuffered<int64_t>();
    auto call = Runtime::template make_unbuffered<int64_t>();
    auto answer = Runtime::template make_unbuffered<int64_t>();
    typename Runtime::wait_group parked;
    typename Runtime::wait_group done;
    typename Runtime::wait_group played;
    std::atomic<int64_t> arrived{0};
    parked.add(1);
    done.add(tasks);
    played.add(1);
    for (int64_t i = 0; i < tasks; ++i) {
        Runtime::go([&] {
            if (arrived.fetch_add(1) + 1 == tasks) parked.done();
            int64_t nothing = 0;
            check(!crowded.recv(nothing), "withdraw: nothing comes by the crowded channel");
            done.done();
        });
    }
    parked.wait();
    Runtime::go([&] {
        int64_t value = 0;
        const auto never = [](const std::optional<int64_t>&) {
            fail("withdraw: nothing comes by the crowded channel");
        };
        const auto take = [&value](std::optional<int64_t> received) { value = received.value_or(-1); };
        while (value >= 0) {
            Runtime::select(Runtime::on_recv(crowded, never), Runtime::on_recv(call, take));
            if (value >= 0) answer.send(value + 1);
        }
        played.done();
    });
    const auto play = [&](int64_t turns) {
        for (int64_t i = 0; i < turns; ++i) {
            int64_t value = 0;
            call.send(i);
            check(answer.recv(value) && value == i + 1, "withdraw: the answer to what was sent");
        }
    };
    play(arguments.n / 10 + 1);
    const int64_t begin = now_ns();
    play(arguments.n);
    const int64_t elapsed = now_ns() - begin;
    call.close();
    played.wait();
    crowded.close();
    done.wait();

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n);
    return result;
}

}  // namespace bench
