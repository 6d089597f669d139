// chan_adaptors_test.cc: merged, batched, newest and copied values, and readers that go away.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/chan_adaptors.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using ChanAdaptors = procs_test;
WEFT_SWEEP(ChanAdaptors);

template <typename T>
chan<T> filled(std::initializer_list<T> values) {
    chan<T> c(values.size());
    for (const T& v : values) c.send(v);
    c.close();
    return c;
}

TEST_P(ChanAdaptors, MergeYieldsEveryValueInTheOrderOfItsChannel) {
    rt().run([] {
        const int each = scaled(200);
        std::vector<recv_chan<int>> sources;
        wait_group senders;
        for (int s = 0; s < 5; ++s) {
            const chan<int> c(static_cast<std::size_t>(s));
            sources.emplace_back(c);
            senders.go([=] {
                for (int i = 0; i < each; ++i) c.send(s * each + i);
                c.close();
            });
        }
        std::vector<int> next(5, 0);
        int values = 0;
        int disorder = 0;
        for (const int v : merge(std::move(sources))) {
            ++values;
            if (v % each != next[static_cast<std::size_t>(v / each)]++) ++disorder;
        }
        senders.wait();
        EXPECT_EQ(values, 5 * each);
        EXPECT_EQ(disorder, 0);
    });
}

TEST_P(ChanAdaptors, MergeOfNothingIsAtItsEnd) {
    EXPECT_EQ(merge<int>({}).recv(), std::nullopt);
    EXPECT_EQ(merge<int>({chan<int>::nil()}).recv(), std::nullopt);
    auto closed = merge<int>({filled({1}), filled<int>({})});
    EXPECT_EQ(closed.open(), 2U);
    EXPECT_EQ(closed.recv(), 1);
    EXPECT_EQ(closed.try_recv().status, chan_status::closed);
    EXPECT_EQ(closed.open(), 0U);
}

TEST_P(ChanAdaptors, MergeWaitsNoLongerThanAllowed) {
    rt().run([] {
        const chan<std::unique_ptr<int>> a;
        const chan<std::unique_ptr<int>> b(1);
        auto both = merge<std::unique_ptr<int>>({a, b});
        EXPECT_EQ(both.try_recv().status, chan_status::would_block);
        EXPECT_EQ(both.recv_for(1ms).status, chan_status::timed_out);
        EXPECT_THROW(with_timeout(1ms, [&] { static_cast<void>(both.recv()); }), timed_out);
        b.send(std::make_unique<int>(3));
        auto got = both.recv_until(std::chrono::steady_clock::now() + 1h);
        ASSERT_TRUE(got);
        EXPECT_EQ(**got, 3);
    });
}

// What a reader has not received stays in the channels, and nothing keeps them alive.
TEST_P(ChanAdaptors, AReaderThatStopsLeavesNothingBehind) {
    const auto counted = std::make_shared<int>(0);
    rt().run([&] {
        const chan<std::shared_ptr<int>> a(4);
        for (int i = 0; i < 4; ++i) a.send(counted);
        {
            auto some = merge<std::shared_ptr<int>>({a});
            for (auto&& v : some) {
                EXPECT_EQ(v.use_count(), 5);
                break;
            }
            EXPECT_EQ(a.size(), 3U);
            auto groups = batch(a, 2, 1h);
            EXPECT_EQ(groups.recv()->size(), 2U);
        }
        EXPECT_EQ(a.size(), 1U);
        EXPECT_EQ(counted.use_count(), 2);
    });
    EXPECT_EQ(counted.use_count(), 1);
}

TEST_P(ChanAdaptors, BatchesHaveAtMostSoManyValues) {
    const chan<int> c = filled({1, 2, 3, 4, 5, 6, 7});
    std::vector<std::vector<int>> all;
    for (auto&& b : batch(c, 3, 1h)) all.push_back(std::move(b));
    EXPECT_EQ(all, (std::vector<std::vector<int>>{{1, 2, 3}, {4, 5, 6}, {7}}));
    EXPECT_THROW(static_cast<void>(batch(c, 0, 1h)), std::invalid_argument);
}

TEST_P(ChanAdaptors, ABatchEndsWhenItsDelayHasPassed) {
    rt().run([] {
        const chan<int> c(10);
        auto groups = batch(c, 5, 2ms);
        c.send(1);
        c.send(2);
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_EQ(groups.recv(), (std::vector<int>{1, 2}));
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 2ms);
        // Without a delay it takes what is there.
        for (int i = 0; i < 4; ++i) c.send(i);
        auto at_once = batch(c, 100, 0ms);
        EXPECT_EQ(at_once.recv(), (std::vector<int>{0, 1, 2, 3}));
        c.close();
        EXPECT_EQ(at_once.recv(), std::nullopt);
    });
}

TEST_P(ChanAdaptors, AnInterruptedBatchLosesNothing) {
    rt().run([] {
        const chan<std::unique_ptr<int>> c(10);
        auto groups = batch(c, 3, 1h);
        for (int i = 0; i < 2; ++i) c.send(std::make_unique<int>(i));
        EXPECT_THROW(with_timeout(1ms, [&] { static_cast<void>(groups.recv()); }), timed_out);
        EXPECT_EQ(groups.collected(), 2U);
        c.send(std::make_unique<int>(2));
        const auto all = groups.recv();
        ASSERT_TRUE(all.has_value());
        ASSERT_EQ(all->size(), 3U);
        for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(*(*all)[i], static_cast<int>(i));
    });
}

TEST_P(ChanAdaptors, SendLatestKeepsTheNewestValues) {
    const chan<int> c(2);
    EXPECT_EQ(send_latest(c, 1), 0U);
    EXPECT_EQ(send_latest(c, 2), 0U);
    EXPECT_EQ(send_latest(c, 3), 1U);
    EXPECT_EQ(send_latest(c, 4), 1U);
    EXPECT_EQ(c.recv(), 3);
    EXPECT_EQ(c.recv(), 4);
    c.close();
    EXPECT_THROW(send_latest(c, 5), channel_closed);
    EXPECT_THROW(send_latest(chan<int>(), 1), std::invalid_argument);
    EXPECT_THROW(send_latest(chan<int>::nil(), 1), std::invalid_argument);
}

TEST_P(ChanAdaptors, AReaderOfTheNewestNeverSeesAnOlderOneAfterANewer) {
    rt().run([&] {
        const chan<int> c(1);
        const int last = scaled(2000);
        std::atomic<int> steps_back = 0;
        wait_group reader;
        reader.go([&] {
            int before = 0;
            for (const int v : c) {
                if (v < before) ++steps_back;
                before = v;
            }
            if (before != last) ++steps_back;
        });
        for (int i = 1; i <= last; ++i) send_latest(c, i);
        c.close();
        reader.wait();
        EXPECT_EQ(steps_back, 0);
    });
}

TEST_P(ChanAdaptors, FanOutCopiesEachValueToEachChannel) {
    rt().run([] {
        const chan<int> source;
        const int n = scaled(100);
        std::atomic<int> sum = 0;
        scope([&](task_scope& s) {
            for (auto& copy : fan_out(s, source, 3, 2)) {
                s.go([&sum, copy] {
                    for (const int v : copy) sum += v;
                });
            }
            for (int i = 1; i <= n; ++i) source.send(i);
            source.close();
        });
        EXPECT_EQ(sum, 3 * n * (n + 1) / 2);
    });
}

TEST_P(ChanAdaptors, FanOutEndsWithItsScopeAlthoughAReaderHasStopped) {
    const auto counted = std::make_shared<int>(0);
    rt().run([&] {
        const chan<std::shared_ptr<int>> source;
        std::vector<recv_chan<std::shared_ptr<int>>> copies;
        std::atomic<bool> other_ended = false;
        scope([&](task_scope& s) {
            copies = fan_out(s, source, 2);
            source.send(counted);
            s.go([&] {
                shield([&] {
                    for (auto&& v : copies[0]) static_cast<void>(v);
                });
                other_ended = true;
            });
            sleep_for(1ms);  // no thread receives from the second one
            s.cancel();
        });
        EXPECT_TRUE(other_ended) << "its channel is closed";
        EXPECT_EQ(copies[1].recv(), std::nullopt);
    });
    EXPECT_EQ(counted.use_count(), 1);
}

}  // namespace
}  // namespace weft::test
