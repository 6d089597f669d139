// timer_stop_test.cc: stop and reset: no earlier tick is received afterwards, and the returned
// value is true.

#include <atomic>
#include <chrono>
#include <thread>
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

class TimerStop : public procs_test {
protected:
    // A timer whose tick has come and waits in its channel.
    timer ticked() {
        const uint64_t fired = rt().stats().timers_fired;
        timer t = rt().run([] { return timer(1us); });
        eventually([&] { return rt().stats().timers_fired > fired; });
        // The tick was counted before its delivery, and is not received. It has been delivered once
        // a later tick was.
        rt().run([] { after(1us).recv(); });
        return t;
    }
};

WEFT_SWEEP(TimerStop);

TEST_P(TimerStop, StoppingBeforeTheTickPreventsIt) {
    rt().run([] {
        timer t(3ms);
        const auto c = t.chan();
        EXPECT_TRUE(t.stop());
        EXPECT_FALSE(t.stop());
        after(6ms).recv();
        EXPECT_EQ(c.try_recv().status, chan_status::would_block);
    });
    EXPECT_EQ(pending_timers(rt()), 0U);
}

TEST_P(TimerStop, StoppingAfterTheTickWasReceivedPreventsNothing) {
    rt().run([] {
        timer t(1ms);
        t.chan().recv();
        EXPECT_FALSE(t.stop());
    });
}

TEST_P(TimerStop, StopDiscardsAnUnreceivedTick) {
    timer t = ticked();
    EXPECT_TRUE(t.stop());
    EXPECT_EQ(t.chan().try_recv().status, chan_status::would_block);
    EXPECT_FALSE(t.stop());
}

TEST_P(TimerStop, ResetDiscardsAnUnreceivedTick) {
    timer t = ticked();
    const auto start = steady_clock::now();
    EXPECT_TRUE(t.reset(5ms));
    EXPECT_GE(*t.chan().recv(), start + 5ms) << "a tick from before the reset";
    EXPECT_FALSE(t.stop());
}

TEST_P(TimerStop, ATickMayBeReceivedLongAfterItIsDue) {
    timer t = ticked();
    EXPECT_TRUE(t.chan().recv().has_value());
    EXPECT_EQ(t.chan().try_recv().status, chan_status::would_block);
}

TEST_P(TimerStop, ResettingToAnEarlierTimeTakesEffectAtOnce) {
    rt().run([] {
        timer t(1h);
        for (int i = 0; i < 10; ++i) {
            EXPECT_EQ(t.reset(1ms), i == 0);
            EXPECT_TRUE(t.chan().recv().has_value());
        }
    });
}

// The waiter is on another processor, perhaps an idle one.
TEST_P(TimerStop, ResetWakesACurrentWaiterInTime) {
    timer t = rt().run([] { return timer(1h); });
    std::atomic<bool> received = false;
    park(1, [&] { rt().go([&, c = t.chan()] { received = c.recv().has_value(); }); });
    rt().run([&] { EXPECT_TRUE(t.reset(1ms)); });
    rt().drain();
    EXPECT_TRUE(received);

    received = false;
    park(1, [&] { rt().go([&, c = t.chan()] { received = c.recv().has_value(); }); });
    EXPECT_FALSE(t.reset(1h));
    EXPECT_TRUE(t.reset(1ms));  // from outside
    rt().drain();
    EXPECT_TRUE(received);
}

TEST_P(TimerStop, ResetToALaterTimeDelaysTheTick) {
    rt().run([] {
        timer t(4ms);
        const auto start = steady_clock::now();
        EXPECT_TRUE(t.reset(20ms));
        EXPECT_GE(*t.chan().recv(), start + 20ms);
    });
}

TEST_P(TimerStop, ResetRestartsAStoppedTimer) {
    rt().run([] {
        timer t(1h);
        for (int i = 0; i < 5; ++i) {
            EXPECT_TRUE(t.stop());
            const auto start = steady_clock::now();
            EXPECT_FALSE(t.reset(1ms));
            EXPECT_GE(*t.chan().recv(), start + 1ms);
            EXPECT_FALSE(t.reset(1h));
        }
    });
}

// A thread receives all the time. A tick that was not prevented is received exactly once; a
// prevented one is not.
TEST_P(TimerStop, TheResultOfStopAgreesWithReceivedTicks) {
    const int rounds = scaled(5000);
    std::atomic<int> received = 0;
    int not_prevented = 0;
    const uint64_t seed = announced_seed();
    timer t = rt().run([] { return timer(1h); });
    rt().run([&] {
        const chan<int> over;
        wait_group all;
        all.go([&, c = t.chan()] {
            while (weft::select(weft::recv_case(over), weft::recv_case(c)).index() == 1) ++received;
        });
        prng random(seed);
        t.stop();
        for (int i = 0; i < rounds; ++i) {
            t.reset(std::chrono::nanoseconds(random.below(60'000)));
            if (random.one_in(2)) sleep_for(std::chrono::microseconds(random.below(60)));
            not_prevented += !t.stop();
        }
        over.close();
        all.wait();
    });
    EXPECT_EQ(received, not_prevented);
}

TEST_P(TimerStop, TheResultOfResetAgreesWithReceivedTicks) {
    const int rounds = scaled(5000);
    std::atomic<int> received = 0;
    int not_prevented = 0;
    const uint64_t seed = announced_seed();
    timer t = rt().run([] { return timer(1h); });
    rt().run([&] {
        const chan<int> over;
        wait_group all;
        all.go([&, c = t.chan()] {
            while (weft::select(weft::recv_case(over), weft::recv_case(c)).index() == 1) ++received;
        });
        prng random(seed);
        for (int i = 0; i < rounds; ++i) {
            not_prevented += !t.reset(std::chrono::nanoseconds(random.below(60'000)));
            if (random.one_in(2)) sleep_for(std::chrono::microseconds(random.below(60)));
        }
        not_prevented += !t.stop();
        over.close();
        all.wait();
    });
    EXPECT_EQ(received, not_prevented);
}

TEST_P(TimerStop, ExactlyOneOfManyStopsPreventsTheTick) {
    const int rounds = scaled(300);
    std::atomic<int> stopped = 0;
    std::atomic<int> received = 0;
    timer t = rt().run([] { return timer(1h); });
    rt().run([&] {
        for (int i = 0; i < rounds; ++i) {
            t.stop();
            t.reset(std::chrono::microseconds(i % 50));
            wait_group all;
            for (int k = 0; k < 4; ++k) all.go([&] { stopped += t.stop(); });
            all.go([&] { received += t.chan().try_recv().status == chan_status::ok; });
            all.wait();
        }
    });
    EXPECT_EQ(stopped + received, rounds);
}

TEST_P(TimerStop, ManyThreadsMayResetOneTimer) {
    const int rounds = scaled(500);
    std::atomic<int> prevented = 0;
    timer t = rt().run([] { return timer(1h); });
    rt().run([&] {
        wait_group all;
        for (int k = 0; k < 4; ++k) {
            all.go([&, k] {
                for (int i = 0; i < rounds; ++i) prevented += t.reset(1h + std::chrono::nanoseconds(k * i));
            });
        }
        all.wait();
    });
    EXPECT_EQ(prevented, 4 * rounds);
    EXPECT_TRUE(t.stop());
    EXPECT_EQ(pending_timers(rt()), 0U);
}

TEST_P(TimerStop, PlainAndGreenThreadsMayStopAndResetATimer) {
    const int rounds = scaled(500);
    timer t = rt().run([] { return timer(1h); });
    std::atomic<bool> over = false;
    std::atomic<int> ticks = 0;
    std::thread receiver([&, c = t.chan()] {
        while (!over) ticks += c.recv_for(1ms).status == chan_status::ok;
    });
    std::thread plain([&] {
        for (int i = 0; i < rounds; ++i) {
            t.reset(std::chrono::microseconds(i % 70));
            if (i % 3 == 0) t.stop();
        }
    });
    rt().run([&] {
        for (int i = 0; i < rounds; ++i) {
            t.reset(std::chrono::microseconds(i % 50));
            if (i % 2 == 0) t.stop();
            if (i % 5 == 0) sleep_for(30us);
        }
    });
    plain.join();
    t.stop();
    over = true;
    receiver.join();
    EXPECT_EQ(t.chan().try_recv().status, chan_status::would_block);
    EXPECT_EQ(pending_timers(rt()), 0U);
}

}  // namespace
}  // namespace weft::test
