// semaphore_test.cc: units that are acquired, released and handed off, among green threads and
// plain threads.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/stopping.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Semaphore = procs_test;
WEFT_SWEEP(Semaphore);

// At most as many are inside at once as there are units.
struct room {
    explicit room(int n) : semaphore(n), places(n) {}

    void visit(bool give_way) {
        semaphore.acquire();
        if (++inside > places) ++intruders;
        if (give_way) weft::yield();
        ++visits;
        --inside;
        semaphore.release();
    }

    counting_semaphore<> semaphore;
    const int places;
    std::atomic<int> inside = 0;
    std::atomic<int> intruders = 0;
    std::atomic<long> visits = 0;
};

TEST_P(Semaphore, AdmitsAtMostAsManyHoldersAsUnits) {
    for (const int places : {1, 3}) {
        room r(places);
        const int each = scaled(3000);
        rt().run([&] {
            wait_group all;
            for (int g = 0; g < 10; ++g) {
                all.go([&] {
                    for (int i = 0; i < each; ++i) r.visit(i % 16 == 0);
                });
            }
            all.wait();
        });
        EXPECT_EQ(r.visits, 10L * each);
        EXPECT_EQ(r.intruders, 0);
    }
}

TEST_P(Semaphore, PlainAndGreenThreadsCompete) {
    for (const int places : {1, 2}) {
        room r(places);
        const int each = scaled(1000);
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < each; ++i) r.visit(false);
            });
            rt().go([&] {
                for (int i = 0; i < each; ++i) r.visit(i % 16 == 0);
            });
        }
        for (std::thread& t : threads) t.join();
        rt().drain();
        EXPECT_EQ(r.visits, 6L * each);
        EXPECT_EQ(r.intruders, 0);
    }
}

TEST_P(Semaphore, WaitersAreServedInTheOrderTheyCame) {
    counting_semaphore<> s(0);
    constexpr int waiters = 40;
    mutex m;
    std::vector<int> order;
    for (int i = 0; i < waiters; ++i) {
        park(1, [&] {
            rt().go([&, i] {
                s.acquire();
                const std::lock_guard hold(m);
                order.push_back(i);
            });
        });
    }
    const auto served = [&] {
        const std::lock_guard hold(m);
        return order.size();
    };
    for (std::size_t i = 1; i <= waiters; ++i) {
        s.release();
        eventually([&] { return served() == i; });
    }
    for (int i = 0; i < waiters; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

// A unit that is released while a waiter exists belongs to that waiter, even before it has run.
TEST_P(Semaphore, ANewcomerCannotTakeAHandedOffUnit) {
    counting_semaphore<> s(0);
    std::atomic<int> served = 0;
    park(3, [&] {
        for (int i = 0; i < 3; ++i) rt().go([&] { s.acquire(), ++served; });
    });
    s.release(2);
    EXPECT_FALSE(s.try_acquire());
    s.release(2);
    EXPECT_TRUE(s.try_acquire());
    EXPECT_FALSE(s.try_acquire());
    rt().drain();
    EXPECT_EQ(served, 3);
}

TEST_P(Semaphore, OneReleaseWakesOneWaiterForEachUnit) {
    counting_semaphore<> s(0);
    std::atomic<int> served = 0;
    std::vector<std::thread> threads;
    park(50, [&] {
        for (int i = 0; i < 50; ++i) rt().go([&] { s.acquire(), ++served; });
    });
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { s.acquire(), ++served; });
    s.release(20);
    eventually([&] { return served == 20; });
    s.release(33 + 5);
    for (std::thread& t : threads) t.join();
    rt().drain();
    EXPECT_EQ(served, 53);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(s.try_acquire());
    EXPECT_FALSE(s.try_acquire());
}

TEST_P(Semaphore, ATimeoutIsNeverEarly) {
    const int early = rt().run([] {
        counting_semaphore<> s(0);
        int wrong = 0;
        for (const auto limit : {1us, 50us, 1000us, 5000us}) {
            auto start = std::chrono::steady_clock::now();
            wrong += s.try_acquire_for(limit) || std::chrono::steady_clock::now() - start < limit;
            start = std::chrono::steady_clock::now();
            wrong += s.try_acquire_until(start + limit) || std::chrono::steady_clock::now() < start + limit;
        }
        return wrong;
    });
    EXPECT_EQ(early, 0);
}

// Waits that end just when they are served: each unit was either acquired once, or is still
// available.
TEST_P(Semaphore, TimeoutsLoseAndDuplicateNoUnit) {
    const int each = scaled(400);
    counting_semaphore<> s(0);
    std::atomic<long> taken = 0;
    std::atomic<bool> over = false;
    prng random(announced_seed());
    const auto take = [&](prng own) {
        while (!over) taken += s.try_acquire_for(std::chrono::nanoseconds(own.below(20'000)));
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) threads.emplace_back([&, own = random.split()] { take(own); });
    for (int g = 0; g < 8; ++g) rt().go([&, own = random.split()] { take(own); });
    std::thread giver([&] {
        for (int i = 0; i < each; ++i) s.release();
    });
    long given = each;
    rt().run([&] {
        for (int i = 0; i < each; ++i) {
            s.release(1 + i % 3);
            given += 1 + i % 3;
            if (i % 4 == 0) sleep_for(5us);
        }
    });
    giver.join();
    over = true;
    for (std::thread& t : threads) t.join();
    rt().drain();
    while (s.try_acquire()) ++taken;
    EXPECT_EQ(taken, given);
}

// The semaphore lives in the waiter's frame. It is destroyed and overwritten as soon as acquire()
// has returned.
TEST_P(Semaphore, MayBeDestroyedRightAfterTheLastAcquire) {
    const int rounds = scaled(10'000);
    rt().run([rounds] {
        alignas(counting_semaphore<>) std::byte memory[sizeof(counting_semaphore<>)];
        for (int i = 0; i < rounds; ++i) {
            auto* s = ::new (memory) counting_semaphore<>(0);
            go([s] { s->release(); });
            go([s] { s->release(); });
            s->acquire();
            s->acquire();
            s->~counting_semaphore();
            std::memset(memory, 0xa5, sizeof memory);
        }
    });
}

TEST_P(Semaphore, MayBeDestroyedRightAfterAPlainThreadsAcquire) {
    const int rounds = scaled(2000);
    alignas(binary_semaphore) std::byte memory[sizeof(binary_semaphore)];
    for (int i = 0; i < rounds; ++i) {
        auto* s = ::new (memory) binary_semaphore(0);
        rt().go([s] { s->release(); });
        if (i % 2 == 0) {
            s->acquire();
        } else {
            EXPECT_TRUE(s->try_acquire_for(1h));
        }
        s->~counting_semaphore();
        std::memset(memory, 0xa5, sizeof memory);
    }
}

TEST_P(Semaphore, ReleaseSynchronizesWithAcquire) {
    const int rounds = scaled(5000);
    int value = 0;  // plain, written by one and then read by the other
    binary_semaphore full(0);
    binary_semaphore empty(1);
    rt().go([&] {
        for (int i = 1; i <= rounds; ++i) {
            empty.acquire();
            value = i;
            full.release();
        }
    });
    int wrong = 0;
    for (int i = 1; i <= rounds; ++i) {
        full.acquire();
        wrong += value != i;
        empty.release();
    }
    EXPECT_EQ(wrong, 0);
    rt().drain();
}

TEST_P(Semaphore, AWaiterOfAStoppedRuntimeIsRemoved) {
    counting_semaphore<> s(0);
    park(2, [&] {
        rt().go([&] { s.acquire(); });
        rt().go([&] { (void)s.try_acquire_for(1h); });
    });
    EXPECT_EQ(rt().abandon(), 2U);
    s.release();
    EXPECT_TRUE(s.try_acquire());
    EXPECT_FALSE(s.try_acquire());
}

// A unit handed to a green thread that never runs again is given back.
TEST(SemaphoreOfAStoppedRuntime, AnAbandonedWaitersUnitIsReturned) {
    binary_semaphore s(0);
    std::atomic<bool> computes{false};
    runtime rt({.procs = 1, .retake = false});
    rt.go([&] { s.acquire(); });
    eventually([&] { return rt.stats().parks == 1; });
    rt.go([&] {
        computes = true;
        compute_until_stopped();
    });
    eventually([&] { return computes.load(); });
    s.release();
    EXPECT_FALSE(s.try_acquire());
    EXPECT_EQ(rt.abandon(), 1U);
    EXPECT_TRUE(s.try_acquire());
}

// A unit that is given back goes to the next waiter.
TEST(SemaphoreOfAStoppedRuntime, AnAbandonedWaitersUnitServesTheNextWaiter) {
    binary_semaphore s(0);
    std::atomic<bool> computes{false};
    runtime rt({.procs = 1, .retake = false});
    runtime other({.procs = 1});
    rt.go([&] { s.acquire(); });
    eventually([&] { return rt.stats().parks == 1; });
    other.go([&] { s.acquire(); });
    eventually([&] { return other.stats().parks == 1; });
    rt.go([&] {
        computes = true;
        compute_until_stopped();
    });
    eventually([&] { return computes.load(); });
    s.release();
    EXPECT_EQ(rt.abandon(), 1U);
    other.drain();
    EXPECT_FALSE(s.try_acquire());
}

}  // namespace
}  // namespace weft::test
