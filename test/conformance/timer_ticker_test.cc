// timer_ticker_test.cc: tickers: ticks come at multiples of the period, a slow receiver misses
// some, and none comes after stop.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/pending_timers.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using TimerTicker = procs_test;
WEFT_SWEEP(TimerTicker);

TEST_P(TimerTicker, TicksAreDueAtMultiplesOfThePeriodAndNeverEarly) {
    rt().run([] {
        const auto before = steady_clock::now();
        const ticker every(2ms);
        const auto c = every.chan();
        auto last = *c.recv();
        EXPECT_GE(last, before + 2ms);
        for (int i = 0; i < 10; ++i) {
            const auto tick = *c.recv();
            EXPECT_GE(steady_clock::now(), tick);
            EXPECT_GT(tick, last);
            EXPECT_EQ((tick - last) % 2ms, 0ns) << "the period does not drift";
            last = tick;
        }
    });
    EXPECT_EQ(pending_timers(rt()), 0U);
}

TEST_P(TimerTicker, ASlowReceiverGetsOneTickAndSkipsTheRest) {
    rt().run([] {
        const ticker every(1ms);
        const auto c = every.chan();
        const auto first = *c.recv();
        after(30ms).recv();
        const auto second = *c.recv();  // has waited
        EXPECT_LT(second - first, 30ms) << "it has come before, or the machine stood still for that long";
        const auto third = *c.recv();
        EXPECT_GE(third - first, 30ms) << "those between were kept";
        EXPECT_EQ((third - first) % 1ms, 0ns);
    });
}

// The processor itself is late: all that is due then is one tick, not thirty.
TEST_P(TimerTicker, OverdueTicksAreMergedIntoOne) {
    rt().run([] {
        const ticker every(1ms);
        const auto c = every.chan();
        const auto first = *c.recv();
        compute_for(30ms);
        std::vector<steady_clock::time_point> ticks;
        for (int i = 0; i < 3; ++i) ticks.push_back(*c.recv());
        EXPECT_GE(ticks.back() - first, 30ms);
    });
}

TEST_P(TimerTicker, NoTickComesAfterStop) {
    rt().run([] {
        ticker every(1ms);
        const auto c = every.chan();
        for (int i = 0; i < 5; ++i) {
            c.recv();
            every.stop();
            after(3ms).recv();
            EXPECT_EQ(c.try_recv().status, chan_status::would_block);
            every.stop();
            every.reset(1ms);
        }
    });
    EXPECT_EQ(pending_timers(rt()), 0U);
}

TEST_P(TimerTicker, StopDiscardsAnUnreceivedTick) {
    rt().run([] {
        ticker every(200us);
        const auto c = every.chan();
        for (int i = 0; i < 20; ++i) {
            after(1ms).recv();
            every.stop();
            EXPECT_EQ(c.try_recv().status, chan_status::would_block);
            const auto start = steady_clock::now();
            every.reset(200us);
            EXPECT_GE(*c.recv(), start + 200us);
        }
    });
}

TEST_P(TimerTicker, ResettingChangesThePeriod) {
    rt().run([] {
        ticker every(1h);
        const auto c = every.chan();
        const auto start = steady_clock::now();
        every.reset(3ms);
        const auto first = *c.recv();
        EXPECT_GE(first, start + 3ms);
        EXPECT_EQ((*c.recv() - first) % 3ms, 0ns);
        every.reset(1h);
        EXPECT_EQ(c.recv_for(6ms).status, chan_status::timed_out);
    });
}

TEST_P(TimerTicker, APeriodOfZeroOrLessIsRefused) {
    rt().run([] {
        EXPECT_THROW(const ticker refused(0ns), std::invalid_argument);
        EXPECT_THROW(const ticker refused(-1ms), std::invalid_argument);
        EXPECT_THROW(const ticker refused(std::chrono::hours::min()), std::invalid_argument);
        ticker every(200us);
        EXPECT_THROW(every.reset(0s), std::invalid_argument);
        EXPECT_THROW(every.reset(-1s), std::invalid_argument);
        EXPECT_TRUE(every.chan().recv().has_value()) << "it goes on as before";
        ticker fraction(std::chrono::duration<double, std::nano>(0.25));  // rounded up
        EXPECT_TRUE(fraction.chan().recv().has_value());
    });
    EXPECT_THROW(const ticker refused(0ns), std::invalid_argument);
}

TEST_P(TimerTicker, APeriodBeyondTheClockNeverTicks) {
    rt().run([] {
        ticker every(std::chrono::hours::max());
        EXPECT_EQ(every.chan().recv_for(2ms).status, chan_status::timed_out);
        every.reset(1ms);
        EXPECT_TRUE(every.chan().recv().has_value());
        every.reset(std::chrono::nanoseconds::max());
        EXPECT_EQ(every.chan().recv_for(2ms).status, chan_status::timed_out);
    });
}

TEST_P(TimerTicker, EachOfSeveralReceiversIsWoken) {
    constexpr int receivers = 4;
    std::vector<std::atomic<int>> ticks(receivers);
    rt().run([&] {
        const ticker every(200us);
        wait_group all;
        for (auto& mine : ticks) {
            all.go([&mine, c = every.chan()] {
                for (int i = 0; i < 5; ++i) mine += c.recv().has_value();
            });
        }
        all.wait();
    });
    for (const auto& mine : ticks) EXPECT_EQ(mine, 5);
}

// One tick at a time goes to one receiver, in order.
TEST_P(TimerTicker, EachTickReachesOneReceiver) {
    const int each = scaled(200);
    const chan<steady_clock::time_point> seen(static_cast<std::size_t>(4 * each));
    rt().run([&] {
        const ticker every(20us);
        wait_group all;
        for (int r = 0; r < 4; ++r) {
            all.go([&, c = every.chan()] {
                for (int i = 0; i < each; ++i) seen.send(*c.recv());
            });
        }
        all.wait();
    });
    seen.close();
    std::vector<steady_clock::time_point> ticks;
    for (const auto tick : seen) ticks.push_back(tick);
    std::sort(ticks.begin(), ticks.end());
    EXPECT_EQ(std::adjacent_find(ticks.begin(), ticks.end()), ticks.end());
}

TEST_P(TimerTicker, ARangeForReceivesTicksUntilBreak) {
    rt().run([] {
        const ticker every(100us);
        const auto c = every.chan();
        int ticks = 0;
        for ([[maybe_unused]] const auto tick : c) {
            if (++ticks == 5) break;
        }
        EXPECT_EQ(ticks, 5);
    });
}

TEST_P(TimerTicker, ManyTickersAreStartedAndStoppedConcurrently) {
    const int rounds = scaled(2000);
    std::atomic<int> ticks = 0;
    rt().run([&] {
        wait_group all;
        for (int k = 0; k < 8; ++k) {
            all.go([&, k] {
                for (int i = 0; i < rounds; ++i) {
                    ticker every(std::chrono::microseconds(1 + (i + k) % 20));
                    const auto c = every.chan();
                    if (i % 4 == 0) ticks += c.recv().has_value();
                    if (i % 3 == 0) every.reset(5us);
                    if (i % 5 == 0) weft::yield();
                    if (i % 2 == 0) {
                        every.stop();
                        ticks += c.try_recv().status == chan_status::ok ? 1'000'000 : 0;
                    }
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(ticks, (rounds + 3) / 4 * 8);
    EXPECT_EQ(pending_timers(rt()), 0U);
}

}  // namespace
}  // namespace weft::test
