// weighted_semaphore_test.cc: callers that take different numbers of units, in order, and guards
// that give them back.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/semaphore_guard.h>
#include <weft/weft.h>
#include <weft/weighted_semaphore.h>

#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using WeightedSemaphore = procs_test;
WEFT_SWEEP(WeightedSemaphore);

static_assert(!std::is_constructible_v<semaphore_guard<counting_semaphore<>>, counting_semaphore<>&, int>,
              "a counting_semaphore has no acquire(n)");

TEST_P(WeightedSemaphore, NeverHandsOutMoreThanItsSize) {
    constexpr int size = 10;
    weighted_semaphore s(size);
    std::atomic<int64_t> taken = 0;
    std::atomic<int> excesses = 0;
    const int each = scaled(500);
    rt().run([&] {
        wait_group all;
        for (int g = 0; g < 8; ++g) {
            all.go([&, g] {
                for (int i = 0; i < each; ++i) {
                    const int64_t n = (g * 7 + i) % (size + 1);
                    const semaphore_guard hold(s, n);
                    if ((taken += n) > size) ++excesses;
                    if (i % 4 == 0) weft::yield();
                    taken -= n;
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(excesses, 0);
    EXPECT_EQ(s.available(), size);
}

TEST_P(WeightedSemaphore, SmallRequestsDoNotStarveALargeOne) {
    weighted_semaphore s(10);
    std::vector<int> order;  // each writes before it gives back what the next one needs
    s.acquire(6);
    park(1, [&] {
        rt().go([&] {
            const semaphore_guard hold(s, 8);
            order.push_back(8);
        });
    });
    EXPECT_FALSE(s.try_acquire(1)) << "4 units are free, but an older caller waits";
    park(1, [&] {
        rt().go([&] {
            const semaphore_guard hold(s, 4);
            order.push_back(4);
        });
    });
    EXPECT_EQ(s.available(), 4);
    s.release(6);
    rt().drain();
    EXPECT_EQ(order, (std::vector<int>{8, 4}));
    EXPECT_EQ(s.available(), 10);
}

TEST_P(WeightedSemaphore, OneReleaseServesAllThatFit) {
    weighted_semaphore s(6);
    s.acquire(6);
    std::atomic<int> served = 0;
    park(4, [&] {
        for (int i = 0; i < 4; ++i) {
            rt().go([&] {
                s.acquire(2);
                ++served;
            });
        }
    });
    s.release(6);
    eventually([&] { return served == 3; });
    EXPECT_EQ(s.available(), 0);
    s.release(2);
    rt().drain();
    EXPECT_EQ(served, 4);
    s.release(6);
}

TEST_P(WeightedSemaphore, AFrontWaiterThatLeavesLetsTheOthersIn) {
    weighted_semaphore s(10);
    s.acquire(5);
    std::stop_source stop;
    std::atomic<bool> cancelled = false;
    std::atomic<int> small = 0;
    park(1, [&] {
        rt().go([&] {
            try {
                with_stop_token(stop.get_token(), [&] { s.acquire(10); });
            } catch (const weft::cancelled&) {
                cancelled = true;
            }
        });
    });
    park(2, [&] {
        for (int i = 0; i < 2; ++i) {
            rt().go([&] {
                s.acquire(2);
                ++small;
            });
        }
    });
    EXPECT_EQ(small, 0);
    stop.request_stop();
    rt().drain();
    EXPECT_TRUE(cancelled);
    EXPECT_EQ(small, 2);
    EXPECT_EQ(s.available(), 1);
    s.release(9);
}

TEST_P(WeightedSemaphore, ATimeoutTakesNothing) {
    weighted_semaphore s(4);
    s.acquire(3);
    rt().run([&] {
        EXPECT_FALSE(s.try_acquire_for(2, 1ms));
        EXPECT_FALSE(s.try_acquire_for(2, 0ms));
        EXPECT_FALSE(s.try_acquire_until(2, std::chrono::steady_clock::now() - 1h));
        EXPECT_THROW(with_timeout(1ms, [&] { s.acquire(2); }), timed_out);
        EXPECT_TRUE(s.try_acquire_for(1, 1h));
    });
    EXPECT_EQ(s.available(), 0);
    s.release(4);
}

TEST_P(WeightedSemaphore, RacingDeadlinesLoseNoUnits) {
    weighted_semaphore s(7);
    const int each = scaled(300);
    rt().run([&] {
        wait_group all;
        for (int g = 0; g < 6; ++g) {
            all.go([&, g] {
                for (int i = 0; i < each; ++i) {
                    const int64_t n = 1 + (g + i) % 7;
                    if (!s.try_acquire_for(n, std::chrono::microseconds(i % 40))) continue;
                    weft::yield();
                    s.release(n);
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(s.available(), 7);
    EXPECT_TRUE(s.try_acquire(7));
    s.release(7);
}

TEST_P(WeightedSemaphore, PlainThreadsWaitInTheSameQueue) {
    weighted_semaphore s(3);
    s.acquire(3);
    std::atomic<bool> served = false;
    std::thread plain([&] {
        s.acquire(2);
        served = true;
        s.release(2);
    });
    rt().run([&] {
        weft::sleep_for(1ms);
        EXPECT_FALSE(served);
        s.release(3);
        const semaphore_guard all(s, 3);
    });
    plain.join();
    EXPECT_TRUE(served);
}

TEST_P(WeightedSemaphore, MoreThanTheSizeIsAnError) {
    weighted_semaphore s(3);
    EXPECT_THROW(s.acquire(4), std::invalid_argument);
    EXPECT_THROW(s.acquire(-1), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(s.try_acquire(-1)), std::invalid_argument);
    EXPECT_FALSE(s.try_acquire(4));
    EXPECT_THROW(weighted_semaphore(-1), std::invalid_argument);
    s.acquire(0);
    EXPECT_EQ(s.available(), s.size());
}

// An abandoned green thread gives its units back, and does not hold up those behind it.
TEST(WeightedSemaphoreStop, UnitsOfAnAbandonedWaiterAreGivenBack) {
    weighted_semaphore s(4);
    s.acquire(3);
    std::thread other;
    std::atomic<bool> served = false;
    {
        runtime ends({.procs = 1});
        ends.go([&] { s.acquire(4); });
        eventually([&] { return ends.stats().parks == 1; });
        other = std::thread([&] {
            s.acquire(1);
            served = true;
        });
        std::this_thread::sleep_for(10ms);  // it waits, or it will: both are allowed
        EXPECT_FALSE(served);
        ends.abandon();
    }
    other.join();
    EXPECT_TRUE(served);
    s.release(4);
    EXPECT_EQ(s.available(), 4);
}

TEST_P(WeightedSemaphore, AGuardGivesBackOnceAndWhatItTook) {
    weighted_semaphore w(5);
    counting_semaphore<> c(1);
    {
        semaphore_guard a(w, 3);
        EXPECT_EQ(w.available(), 2);
        const semaphore_guard b(w, 4, std::try_to_lock);
        EXPECT_FALSE(b);
        semaphore_guard d = std::move(a);
        EXPECT_FALSE(a.owns_units());  // NOLINT(bugprone-use-after-move): what it says
        EXPECT_TRUE(d.owns_units());
        d = semaphore_guard(w, 1);
        EXPECT_EQ(w.available(), 4);
        d.release();
        d.release();
        EXPECT_EQ(w.available(), 5);

        const semaphore_guard e(c);
        const semaphore_guard f(c, std::try_to_lock);
        EXPECT_TRUE(e);
        EXPECT_FALSE(f);
        semaphore_guard kept(w, 2);
        EXPECT_EQ(kept.disown(), 2);
    }
    EXPECT_EQ(w.available(), 3);
    EXPECT_TRUE(c.try_acquire());
    c.release();
    { const semaphore_guard adopted(w, 2, std::adopt_lock); }
    EXPECT_EQ(w.available(), 5);
}

}  // namespace
}  // namespace weft::test
