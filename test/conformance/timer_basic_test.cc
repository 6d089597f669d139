// timer_basic_test.cc: timers and after(): when ticks come, what they contain, and which threads
// may use them.

#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/pending_timers.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using TimerBasic = procs_test;
WEFT_SWEEP(TimerBasic);

constexpr std::chrono::nanoseconds delays[] = {0ns, 1ns, 700ns, 30us, 999us, 1ms, 5ms};

TEST_P(TimerBasic, ATickHoldsItsDueTimeAndIsNeverEarly) {
    for (const auto delay : delays) {
        rt().run([delay] {
            const auto before = steady_clock::now();
            const timer t(delay);
            const auto after = steady_clock::now();
            const auto tick = t.chan().recv();
            const auto received = steady_clock::now();
            ASSERT_TRUE(tick.has_value());
            EXPECT_GE(*tick, before + delay);
            EXPECT_LE(*tick, after + delay);
            EXPECT_GE(received, *tick);
        });
    }
}

TEST_P(TimerBasic, ALateTickHoldsItsDueTime) {
    rt().run([] {
        const timer t(1ms);
        const auto due_at_the_latest = steady_clock::now() + 1ms;
        compute_for(10ms);
        EXPECT_LE(*t.chan().recv(), due_at_the_latest);
    });
}

TEST_P(TimerBasic, AfterTicksOnce) {
    rt().run([] {
        const auto start = steady_clock::now();
        const auto c = after(2ms);
        const auto tick = c.recv();
        EXPECT_GE(steady_clock::now() - start, 2ms);
        EXPECT_GE(*tick - start, 2ms);
        EXPECT_EQ(c.recv_for(3ms).status, chan_status::timed_out);
        EXPECT_FALSE(c.closed());
    });
    EXPECT_EQ(pending_timers(rt()), 0U);
}

TEST_P(TimerBasic, NonPositiveDelaysTickAtOnce) {
    rt().run([] {
        for (int i = 0; i < 20; ++i) {
            const auto start = steady_clock::now();
            EXPECT_GE(*after(0ns).recv(), start);
            EXPECT_GE(*after(-1h).recv(), start) << "the time at which it was due is now, not in the past";
            EXPECT_GE(*after(std::chrono::hours::min()).recv(), start);
            EXPECT_GE(*after(std::chrono::duration<double>(-1e300)).recv(), start);
        }
    });
}

TEST_P(TimerBasic, AZeroDelayTicksBesideYielders) {
    rt().run([this] {
        std::atomic<bool> stop = false;
        wait_group all;
        for (unsigned i = 0; i < 2 * procs(); ++i) {
            all.go([&stop] {
                while (!stop) weft::yield();
            });
        }
        for (int i = 0; i < 20; ++i) after(0ns).recv();
        stop = true;
        all.wait();
    });
}

TEST_P(TimerBasic, TimesBeyondTheClockNeverCome) {
    rt().run([] {
        timer t[] = {timer(std::chrono::hours::max()), timer(std::chrono::nanoseconds::max()),
                     timer(std::chrono::duration<double>(1e300)),
                     timer(std::chrono::duration<double>(std::numeric_limits<double>::infinity()))};
        sleep_for(2ms);
        for (timer& each : t) {
            EXPECT_EQ(each.chan().try_recv().status, chan_status::would_block);
            EXPECT_TRUE(each.stop());
            EXPECT_FALSE(each.stop());
            EXPECT_FALSE(each.reset(std::chrono::hours::max()));
            EXPECT_TRUE(each.reset(0ns)) << "it counted as running";
            EXPECT_TRUE(each.chan().recv().has_value());
        }
    });
}

// The channel looks unbuffered: a program must not check whether a tick is there, because it may be
// taken back.
TEST_P(TimerBasic, TheChannelHasNeitherLengthNorCapacity) {
    const uint64_t fired = rt().stats().timers_fired;
    const auto c = rt().run([] { return after(1us); });
    EXPECT_EQ(c.len(), 0U);
    EXPECT_EQ(c.cap(), 0U);
    eventually([&] { return rt().stats().timers_fired > fired; });
    eventually([&] { return c.try_recv().status == chan_status::ok; });
    EXPECT_EQ(c.len(), 0U);
    EXPECT_EQ(c.cap(), 0U);
}

// Deadlines 20 ms apart, set in a mixed order. A machine that stalls for longer may confuse two, so
// a wrong order counts only if it repeats.
TEST_P(TimerBasic, TimersTickInTheOrderOfTheirDeadlines) {
    constexpr int attempts = 5;
    const std::vector<int> sorted = {0, 1, 2, 3, 4, 5};
    std::vector<int> seen;
    for (int attempt = 0; attempt < attempts && seen != sorted; ++attempt) {
        seen = rt().run([] {
            const chan<int> order(6);
            wait_group all;
            for (const int place : {3, 0, 5, 1, 4, 2}) {
                all.go([c = after((place + 1) * 20ms), order, place] {
                    c.recv();
                    order.send(place);
                });
            }
            all.wait();
            std::vector<int> result;
            for (int i = 0; i < 6; ++i) result.push_back(order.recv().value_or(-1));
            return result;
        });
    }
    EXPECT_EQ(seen, sorted);
}

TEST_P(TimerBasic, ManyTimersAtOnceAllTick) {
    const int n = scaled(20'000);
    const uint64_t seed = announced_seed();
    const int early = rt().run([n, seed] {
        prng random(seed);
        std::vector<std::pair<timer, steady_clock::time_point>> timers;
        for (int i = 0; i < n; ++i) {
            const std::chrono::microseconds delay(random.below(30'000));
            const auto start = steady_clock::now();
            timers.emplace_back(timer(delay), start + delay);
        }
        int wrong = 0;
        for (const auto& [t, due] : timers) wrong += *t.chan().recv() < due;
        return wrong;
    });
    EXPECT_EQ(early, 0);
    EXPECT_EQ(pending_timers(rt()), 0U);
}

TEST_P(TimerBasic, ASelectMayReceiveATick) {
    rt().run([] {
        const chan<int> other;
        const timer soon(1ms);
        const auto first = weft::select(weft::recv_case(other), weft::recv_case(soon.chan()));
        EXPECT_EQ(first.index(), 1U);

        const timer late(1h);
        go([other] { other.send(7); });
        const auto second = weft::select(weft::recv_case(other), weft::recv_case(late.chan()));
        EXPECT_EQ(second.index(), 0U);
        EXPECT_EQ(std::get<0>(second), 7);
    });
}

TEST_P(TimerBasic, ADeadlineRacingWithATickLosesNoTick) {
    const int rounds = scaled(2000);
    const int lost = rt().run([rounds] {
        int wrong = 0;
        for (int i = 0; i < rounds; ++i) {
            const std::chrono::microseconds delay(1 + i % 60);
            timer t(delay);
            const auto c = t.chan();
            const bool ticked = c.recv_for(delay).status == chan_status::ok;
            wrong += ticked == t.stop();  // not received: it still runs, or the tick waits
            wrong += c.try_recv().status != chan_status::would_block;
        }
        return wrong;
    });
    EXPECT_EQ(lost, 0);
}

TEST_P(TimerBasic, PlainThreadsReceiveTheTicksOfGreenThreads) {
    const auto c = rt().run([] { return after(2ms); });
    EXPECT_TRUE(c.recv().has_value());
    timer t = rt().run([] { return timer(1h); });
    EXPECT_TRUE(t.reset(1ms));
    EXPECT_TRUE(t.chan().recv().has_value());
    EXPECT_FALSE(t.stop());
}

TEST_P(TimerBasic, PlainThreadsHaveTimers) {
    std::vector<std::thread> threads;
    std::atomic<int> ticks = 0;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < 20; ++k) {
                timer t(std::chrono::microseconds(100 * k));
                ticks += t.chan().recv().has_value();
                EXPECT_FALSE(t.stop());
                EXPECT_FALSE(t.reset(1h));
                EXPECT_TRUE(t.stop());
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(ticks, 80);
}

TEST_P(TimerBasic, AGreenThreadOfAnotherRuntimeMayReceiveStopAndReset) {
    runtime other({.procs = 1, .name = "other"});
    timer t = rt().run([] { return timer(1h); });
    other.run([&] {
        EXPECT_TRUE(t.reset(1ms));
        EXPECT_TRUE(t.chan().recv().has_value());
        EXPECT_FALSE(t.stop());
        EXPECT_FALSE(t.reset(1h));  // from here on it belongs to the other runtime
        EXPECT_TRUE(t.stop());
    });
}

TEST_P(TimerBasic, TimersCanBeMovedAndReplaced) {
    rt().run([] {
        timer t;
        t = timer(1h);
        timer moved = std::move(t);
        EXPECT_TRUE(moved.reset(1ms));
        EXPECT_TRUE(moved.chan().recv().has_value());
        moved = timer(1ms);
        EXPECT_TRUE(moved.chan().recv().has_value());
        timer& same = moved;
        moved = std::move(same);
        EXPECT_FALSE(moved.reset(1ms));
        EXPECT_TRUE(moved.chan().recv().has_value());
    });
    EXPECT_EQ(pending_timers(rt()), 0U);
}

}  // namespace
}  // namespace weft::test
