// event_test.cc: green threads and plain threads wait for a flag.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Event = procs_test;
WEFT_SWEEP(Event);

TEST_P(Event, SetWakesAllWaitersAndAdmitsLaterOnes) {
    event e;
    std::atomic<int> woken = 0;
    std::vector<std::thread> threads;
    park(50, [&] {
        for (int i = 0; i < 50; ++i) rt().go([&] { e.wait(), ++woken; });
    });
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { e.wait(), ++woken; });
    EXPECT_EQ(woken, 0);
    e.set();
    for (std::thread& t : threads) t.join();
    rt().go([&] { e.wait(), ++woken; });
    rt().drain();
    EXPECT_EQ(woken, 54);
}

// The event is reset at once. Its waiters return all the same.
TEST_P(Event, ResetDoesNotRevokeAWakeUp) {
    event e;
    std::atomic<int> woken = 0;
    park(20, [&] {
        for (int i = 0; i < 20; ++i) rt().go([&] { e.wait(), ++woken; });
    });
    e.set();
    e.reset();
    rt().drain();
    EXPECT_EQ(woken, 20);
    EXPECT_FALSE(e.is_set());
    park(1, [&] { rt().go([&] { e.wait(), ++woken; }); });
    EXPECT_EQ(woken, 20);
    e.set();
    rt().drain();
    EXPECT_EQ(woken, 21);
}

TEST_P(Event, CanBeUsedAgainAndAgain) {
    const int rounds = scaled(2000);
    event there;
    event back;
    std::atomic<int> answered = 0;
    rt().go([&] {
        for (int i = 0; i < rounds; ++i) {
            there.wait();
            there.reset();
            ++answered;
            back.set();
        }
    });
    int wrong = 0;
    for (int i = 1; i <= rounds; ++i) {
        there.set();
        back.wait();
        back.reset();
        wrong += answered != i;
    }
    EXPECT_EQ(wrong, 0);
    rt().drain();
}

// The consumer resets the event, checks, and waits only if it finds nothing. No producer sets the
// event twice for one piece.
TEST_P(Event, ResetThenCheckThenWaitMissesNothing) {
    constexpr int producers = 4;
    const int each = scaled(3000);
    event news;
    std::atomic<int> pieces = 0;  // relaxed: the event has to order them
    const auto produce = [&] {
        for (int i = 0; i < each; ++i) {
            pieces.fetch_add(1, std::memory_order_relaxed);
            news.set();
        }
    };
    std::vector<std::thread> threads;
    for (int p = 0; p < producers / 2; ++p) {
        threads.emplace_back(produce);
        rt().go(produce);
    }
    const int taken = rt().run([&] {
        int sum = 0;
        while (sum < producers * each) {
            news.reset();
            const int got = pieces.exchange(0, std::memory_order_relaxed);
            if (got == 0) news.wait();
            sum += got;
        }
        return sum;
    });
    for (std::thread& t : threads) t.join();
    rt().drain();
    EXPECT_EQ(taken, producers * each);
}

TEST_P(Event, MayBeDestroyedRightAfterWait) {
    const int rounds = scaled(10'000);
    rt().run([rounds] {
        alignas(event) std::byte memory[sizeof(event)];
        for (int i = 0; i < rounds; ++i) {
            auto* done = ::new (memory) event;
            go([done] { done->set(); });
            done->wait();
            done->~event();
            std::memset(memory, 0xa5, sizeof memory);
        }
    });
}

TEST_P(Event, MayBeDestroyedRightAfterAPlainThreadsWait) {
    const int rounds = scaled(2000);
    alignas(event) std::byte memory[sizeof(event)];
    for (int i = 0; i < rounds; ++i) {
        auto* done = ::new (memory) event;
        rt().go([done] { done->set(); });
        if (i % 2 == 0) {
            done->wait();
        } else {
            EXPECT_TRUE(done->wait_for(1h));
        }
        done->~event();
        std::memset(memory, 0xa5, sizeof memory);
    }
}

TEST_P(Event, ATimeoutIsNeverEarly) {
    const int early = rt().run([] {
        event e;
        int wrong = 0;
        for (const auto limit : {1us, 50us, 1000us, 5000us}) {
            auto start = std::chrono::steady_clock::now();
            wrong += e.wait_for(limit) || std::chrono::steady_clock::now() - start < limit;
            start = std::chrono::steady_clock::now();
            wrong += e.wait_until(start + limit) || std::chrono::steady_clock::now() < start + limit;
        }
        return wrong;
    });
    EXPECT_EQ(early, 0);
}

// Waits that end just when the event is set. A wait that reports the set sees what the setter wrote
// before it.
TEST_P(Event, ATimeoutRacingWithSetReturnsCorrectly) {
    const int rounds = scaled(300);
    prng random(announced_seed());
    for (int round = 0; round < rounds; ++round) {
        event e;
        std::atomic<bool> about_to_set = false;
        std::atomic<int> wrong = 0;
        const auto wait = [&](int limit_ns) {
            const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit_ns);
            wrong += e.wait_until(until) ? !about_to_set : std::chrono::steady_clock::now() < until;
        };
        for (int g = 0; g < 4; ++g) rt().go([&, t = random.below(30'000)] { wait(t); });
        std::thread plain([&, t = random.below(60'000)] { wait(t); });
        rt().go([&, t = random.below(20)] {
            sleep_for(std::chrono::microseconds(t));
            about_to_set = true;
            e.set();
        });
        plain.join();
        rt().drain();
        ASSERT_EQ(wrong, 0);
    }
}

TEST_P(Event, AWaiterOfAStoppedRuntimeIsRemoved) {
    event e;
    park(2, [&] {
        rt().go([&] { e.wait(); });
        rt().go([&] { (void)e.wait_for(1h); });
    });
    EXPECT_EQ(rt().abandon(), 2U);
    e.set();
    EXPECT_TRUE(e.is_set());
}

}  // namespace
}  // namespace weft::test
