// latch_test.cc: a count that falls to zero once; green threads and plain threads wait for that.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Latch = procs_test;
WEFT_SWEEP(Latch);

TEST_P(Latch, WaitReturnsWhenTheCountIsZero) {
    const int early = rt().run([] {
        int wrong = 0;
        for (int round = 0; round < 8; ++round) {
            latch done(16);
            std::atomic<int> finished = 0;
            for (int i = 0; i < 16; ++i) {
                go([&] {
                    weft::yield();
                    ++finished;
                    done.count_down();
                });
            }
            done.wait();
            wrong += finished != 16;
        }
        return wrong;
    });
    EXPECT_EQ(early, 0);
}

TEST_P(Latch, WakesEveryWaiterAndAdmitsLaterOnes) {
    latch start(2);
    std::atomic<int> woken = 0;
    std::vector<std::thread> threads;
    park(50, [&] {
        for (int i = 0; i < 50; ++i) rt().go([&] { start.wait(), ++woken; });
    });
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { start.wait(), ++woken; });
    start.count_down();
    EXPECT_FALSE(start.try_wait());
    EXPECT_EQ(woken, 0);
    start.count_down();
    for (std::thread& t : threads) t.join();
    rt().go([&] { start.wait(), ++woken; });
    rt().drain();
    EXPECT_EQ(woken, 54);
}

TEST_P(Latch, ArriveAndWaitReturnsAfterTheLastArrival) {
    const int rounds = scaled(100);
    for (int round = 0; round < rounds; ++round) {
        latch meeting(8);
        std::atomic<int> arrived = 0;
        std::atomic<int> alone = 0;
        const auto arrive = [&](int n) {
            arrived += n;
            meeting.arrive_and_wait(n);
            alone += arrived != 8;
        };
        std::thread plain([&] { arrive(1); });
        std::thread heavy([&] { arrive(3); });
        for (int i = 0; i < 4; ++i) rt().go([&] { arrive(1); });
        plain.join();
        heavy.join();
        rt().drain();
        ASSERT_EQ(alone, 0);
    }
}

// The latch lives in the waiter's frame. It is destroyed and overwritten as soon as wait() has
// returned.
TEST_P(Latch, MayBeDestroyedRightAfterWait) {
    const int rounds = scaled(10'000);
    rt().run([rounds] {
        alignas(latch) std::byte memory[sizeof(latch)];
        for (int i = 0; i < rounds; ++i) {
            auto* done = ::new (memory) latch(2);
            go([done] { done->count_down(); });
            go([done] { done->count_down(); });
            done->wait();
            done->~latch();
            std::memset(memory, 0xa5, sizeof memory);
        }
    });
}

TEST_P(Latch, MayBeDestroyedRightAfterAPlainThreadsWait) {
    const int rounds = scaled(2000);
    alignas(latch) std::byte memory[sizeof(latch)];
    for (int i = 0; i < rounds; ++i) {
        auto* done = ::new (memory) latch(2);
        rt().go([done] { done->count_down(); });
        rt().go([done] { done->count_down(); });
        if (i % 2 == 0) {
            done->wait();
        } else {
            EXPECT_TRUE(done->wait_for(1h));
        }
        done->~latch();
        std::memset(memory, 0xa5, sizeof memory);
    }
}

TEST_P(Latch, CountDownSynchronizesWithWait) {
    const int rounds = scaled(2000);
    const int wrong = rt().run([rounds] {
        int mistakes = 0;
        for (int i = 0; i < rounds; ++i) {
            int a = 0;  // plain variables, written by others
            int b = 0;
            latch both(2);
            go([&] { a = i + 1, both.count_down(); });
            go([&] { b = i + 2, both.count_down(); });
            both.wait();
            mistakes += a != i + 1 || b != i + 2;
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

// When the deadline coincides with the last count, either result is fine, but must be true.
TEST_P(Latch, ATimeoutRacingWithTheLastCountReturnsCorrectly) {
    const int rounds = scaled(200);
    prng random(announced_seed());
    for (int round = 0; round < rounds; ++round) {
        latch done(1);
        std::atomic<int> wrong = 0;
        const auto wait = [&](std::chrono::nanoseconds limit) {
            const auto until = std::chrono::steady_clock::now() + limit;
            const bool open = done.wait_until(until);
            wrong += open ? !done.try_wait() : std::chrono::steady_clock::now() < until;
        };
        for (int g = 0; g < 4; ++g) rt().go([&, t = random.below(30'000)] { wait(std::chrono::nanoseconds(t)); });
        std::thread plain([&, t = random.below(60'000)] { wait(std::chrono::nanoseconds(t)); });
        rt().go([&, t = random.below(20)] {
            sleep_for(std::chrono::microseconds(t));
            done.count_down();
        });
        done.wait();
        plain.join();
        rt().drain();
        ASSERT_EQ(wrong, 0);
    }
}

TEST_P(Latch, AWaiterOfAStoppedRuntimeIsRemoved) {
    latch l(1);
    park(2, [&] {
        rt().go([&] { l.wait(); });
        rt().go([&] { (void)l.wait_for(1h); });
    });
    EXPECT_EQ(rt().abandon(), 2U);
    l.count_down();
    EXPECT_TRUE(l.try_wait());
}

}  // namespace
}  // namespace weft::test
