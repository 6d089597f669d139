// patterns_test.cc: rate limiters, weighted semaphores, groups and adaptors, in all orders and in
// virtual time.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <weft/backoff.h>
#include <weft/chan_adaptors.h>
#include <weft/rate_limiter.h>
#include <weft/semaphore_guard.h>
#include <weft/sim/sim.h>
#include <weft/task_group.h>
#include <weft/weft.h>
#include <weft/weighted_semaphore.h>

#include "sim/check.h"

namespace weft {
namespace {

using test::check;

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

void patterns_hold(const std::function<void()>& body) {
    const sim::report r = sim::explore({.schedules = 300, .lateness = 0ns}, body);
    EXPECT_TRUE(r) << r.text();
}

TEST(Patterns, ALimiterIsExactlyAsFastAsItsRate) {
    patterns_hold([] {
        // A third of a second each: no rounding adds up.
        rate_limiter limit({.tokens = 3, .per = 1s, .burst = 2});
        const clock::time_point begin = clock::now();
        wait_group callers;
        for (int i = 0; i < 8; ++i) callers.go([&] { limit.acquire(); });
        callers.wait();
        check(clock::now() - begin == 2s, "six tokens beyond the burst took another time than 2 s");
        sleep_for(1h);
        check(limit.available() == 2, "the bucket is not full, or holds more than its burst");
    });
}

TEST(Patterns, ALimiterServesALargeRequestBeforeLaterSmallOnes) {
    patterns_hold([] {
        rate_limiter limit({.tokens = 1, .per = 1s, .burst = 5});
        limit.acquire(5);
        std::vector<int> order;
        wait_group callers;
        for (const int n : {1, 5, 1}) {
            callers.go([&, n] {
                limit.acquire(n);
                order.push_back(n);
            });
            sleep_for(1ms);
            check(!limit.try_acquire(0) || n == 0, "a call overtakes those that wait");
        }
        const clock::time_point begin = clock::now();
        callers.wait();
        check(order == std::vector<int>({1, 5, 1}), "another order than that of arrival");
        check(clock::now() - begin == 7s - 3ms, "another time");
    });
}

TEST(Patterns, ALimiterLosesNoTimeToAnInterruptedCaller) {
    patterns_hold([] {
        rate_limiter limit({.tokens = 1, .per = 1s, .burst = 10});
        limit.acquire(10);
        const clock::time_point begin = clock::now();
        wait_group callers;
        callers.go([&] {
            bool timed = false;
            try {
                with_timeout(4s, [&] { limit.acquire(10); });
            } catch (const timed_out&) {
                timed = true;
            }
            check(timed, "no deadline");
        });
        sleep_for(1s);
        callers.go([&] {
            limit.acquire(6);
            check(clock::now() - begin == 6s, "the second caller was late or early");
        });
        callers.wait();
    });
}

TEST(Patterns, AWeightedSemaphoreIsFairAndNeverOverfull) {
    patterns_hold([] {
        weighted_semaphore s(3);
        int taken = 0;
        wait_group all;
        for (const int n : {2, 3, 1, 2}) {
            all.go([&, n] {
                const semaphore_guard hold(s, n);
                taken += n;
                check(taken <= 3, "more than its size");
                yield();
                taken -= n;
            });
        }
        all.go([&] {
            if (!s.try_acquire_for(3, 1ms)) return;
            check(taken == 0, "others have units, too");
            s.release(3);
        });
        all.wait();
        check(s.available() == 3, "units were lost");
    });
}

TEST(Patterns, AGroupEndsWithItsFirstException) {
    patterns_hold([] {
        task_group g;
        g.limit(2);
        bool thrown = false;
        for (int i = 0; i < 4; ++i) {
            g.go([i] {
                if (i == 1) throw std::runtime_error("no");
                sleep_for(1h);
            });
        }
        const clock::time_point begin = clock::now();
        try {
            g.wait();
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        check(thrown, "no exception");
        check(clock::now() - begin < 1h, "the others were not cancelled");
    });
}

TEST(Patterns, MergedChannelsYieldAllAndThenEnd) {
    patterns_hold([] {
        std::vector<recv_chan<int>> sources;
        for (int s = 0; s < 3; ++s) {
            const chan<int> c(static_cast<std::size_t>(s));
            sources.emplace_back(c);
            go([c, s] {
                for (int i = 0; i < 2; ++i) c.send(10 * s + i);
                c.close();
            });
        }
        std::vector<int> got;
        for (const int v : merge(std::move(sources))) got.push_back(v);
        std::sort(got.begin(), got.end());
        check(got == std::vector<int>({0, 1, 10, 11, 20, 21}), "values are missing, or come twice");
    });
}

TEST(Patterns, ABatchIsNoLaterThanItsDelay) {
    patterns_hold([] {
        const chan<int> c;
        go([c] {
            for (int i = 0; i < 5; ++i) {
                c.send(i);
                sleep_for(4s);
            }
            c.close();
        });
        auto batches = batch(c, 100, 10s);
        const clock::time_point begin = clock::now();
        check(batches.recv()->size() == 3, "those of 0, 4 and 8 s");
        check(clock::now() - begin == 10s, "another delay");
        check(batches.recv()->size() == 2, "the rest");
        check(!batches.recv().has_value(), "no end");
    });
}

TEST(Patterns, TheNewestValueIsReadInTheEnd) {
    patterns_hold([] {
        const chan<int> c(1);
        wait_group senders;
        for (int s = 1; s <= 2; ++s) senders.go([=] { send_latest(c, s); });
        senders.wait();
        check(c.size() == 1, "no value");
        send_latest(c, 3);
        check(c.recv() == 3, "an old value");
    });
}

TEST(Patterns, PausesAreRepeatedWithTheSchedule) {
    const sim::report r = sim::check_repeatable({.schedules = 20}, [] {
        backoff pauses({.first = 100ms});
        for (int i = 0; i < 4; ++i) pauses.wait();
    });
    EXPECT_TRUE(r) << r.text();
}

}  // namespace
}  // namespace weft
