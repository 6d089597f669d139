// rate_limiter_test.cc: tokens at a rate, in order, for callers that wait or do not.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <stop_token>

#include <gtest/gtest.h>

#include <weft/rate_limiter.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using RateLimiter = procs_test;
WEFT_SWEEP(RateLimiter);

TEST_P(RateLimiter, ABurstIsThereAtOnceAndThenNoMore) {
    rate_limiter hourly({.tokens = 1, .per = 1h, .burst = 3});
    EXPECT_EQ(hourly.available(), 3);
    EXPECT_TRUE(hourly.try_acquire());
    EXPECT_TRUE(hourly.try_acquire(2));
    EXPECT_FALSE(hourly.try_acquire());
    EXPECT_TRUE(hourly.try_acquire(0));
    EXPECT_EQ(hourly.available(), 0);
}

TEST_P(RateLimiter, IsNeverFasterThanItsRate) {
    const int n = scaled(40);
    rate_limiter limit({.tokens = 1000, .per = 1s, .burst = 5});
    const auto begin = steady_clock::now();
    rt().run([&] {
        wait_group callers;
        for (int i = 0; i < n; ++i) callers.go([&] { limit.acquire(); });
        callers.wait();
    });
    EXPECT_GE(steady_clock::now() - begin, (n - 5) * 1ms);
}

TEST_P(RateLimiter, AnInterruptedCallerTakesNothingAndTheNextProceeds) {
    rate_limiter slow({.tokens = 1, .per = 1h, .burst = 10});
    EXPECT_TRUE(slow.try_acquire(8));
    std::stop_source stop;
    std::atomic<bool> cancelled = false;
    std::atomic<bool> served = false;
    park(1, [&] {
        rt().go([&] {
            try {
                with_stop_token(stop.get_token(), [&] { slow.acquire(5); });
            } catch (const weft::cancelled&) {
                cancelled = true;
            }
        });
    });
    park(1, [&] {
        rt().go([&] {
            slow.acquire(2);
            served = true;
        });
    });
    EXPECT_FALSE(slow.try_acquire()) << "two tokens are there, but older callers wait";
    EXPECT_FALSE(served);
    stop.request_stop();
    rt().drain();
    EXPECT_TRUE(cancelled);
    EXPECT_TRUE(served);
    EXPECT_EQ(slow.available(), 0);
}

TEST_P(RateLimiter, DeadlinesEndTheWait) {
    rate_limiter slow({.tokens = 1, .per = 1h, .burst = 1});
    rt().run([&] {
        slow.acquire();
        const auto begin = steady_clock::now();
        EXPECT_FALSE(slow.try_acquire_for(1, 1min)) << "an hour is too long";
        EXPECT_LT(steady_clock::now() - begin, 30s) << "that was certain at once";
        EXPECT_FALSE(slow.try_acquire_for(1, 0s));
        EXPECT_FALSE(slow.try_acquire_until(1, steady_clock::now() - 1s));
        EXPECT_THROW(with_timeout(1ms, [&] { slow.acquire(); }), timed_out);
        EXPECT_FALSE(slow.try_acquire());
    });
    rate_limiter fast({.tokens = 1000, .per = 1s, .burst = 1});
    EXPECT_TRUE(fast.try_acquire());
    EXPECT_TRUE(fast.try_acquire_for(1, 1min));
}

TEST_P(RateLimiter, ManyWaitersWithDeadlinesLeaveItUsable) {
    rate_limiter limit({.tokens = 20'000, .per = 1s, .burst = 3});
    std::atomic<int> got = 0;
    rt().run([&] {
        wait_group all;
        for (int g = 0; g < 10; ++g) {
            all.go([&, g] {
                for (int i = 0; i < scaled(50); ++i) {
                    if (limit.try_acquire_for(1 + i % 3, std::chrono::microseconds((g * 31 + i * 17) % 400))) ++got;
                }
            });
        }
        all.wait();
        limit.acquire(3);
    });
    EXPECT_GT(got, 0);
}

TEST_P(RateLimiter, RatesOfMoreThanATokenANanosecondAreExact) {
    rate_limiter bytes({.tokens = 10'000'000'000, .per = 1s, .burst = 1'000'000'000});
    EXPECT_TRUE(bytes.try_acquire(1'000'000'000));
    const auto begin = steady_clock::now();
    bytes.acquire(20'000'000);
    EXPECT_GE(steady_clock::now() - begin, 1900us);
}

TEST_P(RateLimiter, ImpossibleLimitsAndRequestsAreErrors) {
    EXPECT_THROW(rate_limiter({.tokens = 0}), std::invalid_argument);
    EXPECT_THROW(rate_limiter({.per = 0s}), std::invalid_argument);
    EXPECT_THROW(rate_limiter({.burst = -1}), std::invalid_argument);
    EXPECT_THROW(rate_limiter({.per = 24h, .burst = 1'000'000}), std::invalid_argument);
    rate_limiter limit({.burst = 2});
    EXPECT_THROW(limit.acquire(3), std::invalid_argument);
    EXPECT_THROW(limit.acquire(-1), std::invalid_argument);
    EXPECT_FALSE(limit.try_acquire(3));
    EXPECT_EQ(limit.limit().burst, 2);
}

}  // namespace
}  // namespace weft::test
