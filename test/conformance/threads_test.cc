// threads_test.cc: plain OS threads use every primitive, among themselves and with green threads.

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using PlainThreads = procs_test;
WEFT_SWEEP(PlainThreads);

TEST_P(PlainThreads, CommunicateWithGreenThreadsInBothDirections) {
    for (const std::size_t cap : {0U, 1U, 8U}) {
        const chan<int> requests(cap);
        const chan<int> replies(cap);
        rt().go([=] {
            for (const int r : requests) replies.send(2 * r);
            replies.close();
        });
        std::thread asking([=] {
            for (int i = 0; i < 200; ++i) requests.send(i);
            requests.close();
        });
        int expected = 0;
        for (const int r : replies) {
            EXPECT_EQ(r, expected);
            expected += 2;
        }
        EXPECT_EQ(expected, 400);
        asking.join();
    }
}

TEST_P(PlainThreads, CommunicateWithoutAnyGreenThread) {
    const int messages = scaled(2000);
    for (const std::size_t cap : {0U, 4U}) {
        const chan<int> c(cap);
        std::thread sender([&] {
            for (int i = 0; i < messages; ++i) c.send(i);
            c.close();
        });
        int expected = 0;
        for (const int v : c) EXPECT_EQ(v, expected++);
        EXPECT_EQ(expected, messages);
        sender.join();
    }
}

TEST_P(PlainThreads, ShareAChannelWithGreenThreadsWithoutLoss) {
    constexpr int senders = 6;
    const int each = scaled(2000);
    for (const std::size_t cap : {0U, 3U}) {
        tally seen(static_cast<std::size_t>(senders * each));
        const chan<int> c(cap);
        const auto send_all = [c, each](int from) {
            for (int i = from; i < from + each; ++i) c.send(i);
        };
        const auto receive_all = [c, &seen] {
            for (const int v : c) seen.mark(static_cast<std::size_t>(v));
        };
        std::vector<std::thread> sending;
        std::vector<std::thread> receiving;
        wait_group green;
        green.add(3);
        for (int s = 0; s < 3; ++s) {
            sending.emplace_back(send_all, s * each);
            receiving.emplace_back(receive_all);
            rt().go([&, s] {
                send_all((3 + s) * each);
                green.done();
            });
            rt().go(receive_all);
        }
        for (std::thread& t : sending) t.join();
        green.wait();
        c.close();
        for (std::thread& t : receiving) t.join();
        rt().drain();
        EXPECT_TRUE(seen.exactly_once()) << "capacity " << cap;
    }
}

TEST_P(PlainThreads, WaitForFuturesAndGroups) {
    std::vector<std::thread> threads;
    std::atomic<int> sum = 0;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            auto f = rt().async([t] {
                sleep_for(1ms);
                return t;
            });
            wait_group work;
            work.add();
            rt().go([&work] { work.done(); });
            work.wait();
            EXPECT_EQ(f.wait_for(1h), std::future_status::ready);
            sum += f.get();
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(sum, 6);
}

TEST_P(PlainThreads, ABlockedThreadIsWokenByAGreenThread) {
    const int rounds = scaled(500);
    const chan<int> there;
    const chan<int> back;
    rt().go([=] {
        for (const int v : there) back.send(v);
    });
    for (int i = 0; i < rounds; ++i) {
        there.send(i);
        ASSERT_EQ(back.recv(), i);
    }
    there.close();
}

TEST_P(PlainThreads, AThreadMayEndAndALaterThreadMayWait) {
    const chan<int> c;
    const int rounds = scaled(200);
    for (int i = 0; i < rounds; ++i) {
        std::optional<int> got;
        std::thread receiver([&] { got = c.recv(); });
        rt().go([c, i] { c.send(i); });
        receiver.join();
        ASSERT_EQ(got, i);
    }
}

// go() and async() in a plain thread use the default runtime, which starts on demand.
TEST(DefaultRuntime, PlainThreadsStartGreenThreadsOnIt) {
    std::atomic<int> ran = 0;
    wait_group all;
    for (int i = 0; i < 100; ++i) {
        all.go([&ran] {
            weft::yield();
            ++ran;
        });
    }
    all.wait();
    EXPECT_EQ(ran, 100);
    EXPECT_EQ(async([] { return this_g::id() != 0; }).get(), true);
    EXPECT_GE(stats().spawned, 101U);
    eventually([] { return stats().live == 0; });
}

TEST(DefaultRuntime, ManyThreadsMayStartItAtOnce) {
    std::atomic<int> ran = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] { ran += async([] { return 1; }).get(); });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(ran, 8);
}

}  // namespace
}  // namespace weft::test
