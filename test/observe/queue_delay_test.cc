// queue_delay_test.cc: how long runnable green threads wait, and when a queue counts as overloaded.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <weft/observe/queue_delay.h>
#include <weft/weft.h>

#include "observe/codel.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using observe::queue_delay;
using observe::detail::codel;

constexpr int64_t ms = 1'000'000;

// The law alone, with a clock of its own: target 5 ms, interval 100 ms.
class Codel : public ::testing::Test {
protected:
    // A measurement of that delay every 5 ms, or more.
    void measure(int64_t delay_ns, int64_t for_ns) {
        for (const int64_t end = now_ + for_ns; now_ < end;) {
            now_ += 5 * ms;
            law_.begun(now_);
            now_ += delay_ns;
            law_.measured(delay_ns, now_);
        }
    }

    codel law_{5 * ms, 100 * ms};
    int64_t now_ = 1'000 * ms;
};

TEST_F(Codel, AQueueThatDrainsIsNotOverloaded) {
    EXPECT_FALSE(law_.overloaded(now_));
    for (int i = 0; i < 20; ++i) {
        measure(40 * ms, 80 * ms);
        EXPECT_FALSE(law_.overloaded(now_)) << "a burst";
        measure(0, 5 * ms);
    }
    EXPECT_EQ(law_.minimum_ns(now_), 0);
    EXPECT_FALSE(law_.should_shed(now_));
}

TEST_F(Codel, ADelayAboveTheTargetForAnIntervalIsOverload) {
    measure(4 * ms, 1'000 * ms);
    EXPECT_FALSE(law_.overloaded(now_));
    EXPECT_EQ(law_.minimum_ns(now_), 4 * ms);
    measure(6 * ms, 90 * ms);
    EXPECT_FALSE(law_.overloaded(now_));
    measure(6 * ms, 20 * ms);
    EXPECT_TRUE(law_.overloaded(now_));
    measure(6 * ms, 200 * ms);
    EXPECT_EQ(law_.minimum_ns(now_), 6 * ms);
    measure(1 * ms, 5 * ms);
    EXPECT_FALSE(law_.overloaded(now_)) << "one good delay ends it";
}

TEST_F(Codel, AMeasurementUnderWayCounts) {
    measure(0, 50 * ms);
    law_.begun(now_);
    EXPECT_EQ(law_.last_ns(now_ + 30 * ms), 30 * ms);
    EXPECT_EQ(law_.minimum_ns(now_ + 30 * ms), 0);
    EXPECT_FALSE(law_.overloaded(now_ + 104 * ms));
    EXPECT_TRUE(law_.overloaded(now_ + 105 * ms));
    EXPECT_EQ(law_.minimum_ns(now_ + 150 * ms), 150 * ms);
    EXPECT_EQ(law_.smoothed_ns(now_ + 150 * ms), 150 * ms);
}

TEST_F(Codel, SmoothsByEighths) {
    measure(8 * ms, 13 * ms);
    EXPECT_EQ(law_.smoothed_ns(now_), 1 * ms);
    measure(8 * ms, 2'000 * ms);
    EXPECT_NEAR(static_cast<double>(law_.smoothed_ns(now_)), 8e6, 1e4);
}

TEST_F(Codel, ShedsMoreAndMoreOftenWhileOverloaded) {
    measure(10 * ms, 130 * ms);
    ASSERT_TRUE(law_.overloaded(now_));
    std::vector<int64_t> at;
    for (int64_t t = now_; t < now_ + 500 * ms; t += ms) {
        if (law_.should_shed(t)) at.push_back((t - now_) / ms);
    }
    // After 100 / sqrt(n) ms, rounded up to the next look.
    EXPECT_EQ(at, (std::vector<int64_t>{0, 100, 171, 229, 279, 324, 365, 403, 439, 473}));
}

TEST_F(Codel, ShedsNothingWhenTheDelayIsGoodAgain) {
    measure(10 * ms, 300 * ms);
    ASSERT_TRUE(law_.should_shed(now_));
    measure(1 * ms, 5 * ms);
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(law_.should_shed(now_ + i * ms));
}

TEST(QueueDelay, FollowsTheLoad) {
    weft::runtime rt({.procs = 1});
    rt.run([] {
        queue_delay queues({.target = 2ms, .interval = 20ms, .period = 1ms});
        std::atomic<bool> over = false;
        wait_group busy;
        // A round takes 8 ms at least.
        for (int i = 0; i < 8; ++i) {
            busy.go([&] {
                while (!over.load()) {
                    compute_for(1ms);
                    weft::yield();
                }
            });
        }
        eventually([&] { return queues.overloaded(); });
        EXPECT_GT(queues.minimum(), 2ms);
        eventually([&] { return queues.should_shed(); });
        eventually([&] { return queues.smoothed() > 2ms; });
        over = true;
        busy.wait();
        eventually([&] { return !queues.overloaded() && queues.now() < 2ms; });
        EXPECT_FALSE(queues.should_shed());
    });
}

TEST(QueueDelay, EndsWithItsRuntimeAndWithoutIt) {
    std::optional<queue_delay> later;
    {
        weft::runtime rt({.procs = 2});
        rt.run([&] { later.emplace(observe::queue_delay_options{.period = 1ms}); });
        const auto done = rt.shutdown(10s);
        EXPECT_EQ(done.abandoned, 0U);
    }
    later.reset();
    weft::runtime rt({.procs = 2});
    rt.run([] { const queue_delay short_lived({.period = 1ms}); });
    rt.drain();
}

TEST(QueueDelay, RefusesDurationsThatAreNotPositive) {
    EXPECT_THROW(queue_delay({.target = 0ms}), std::invalid_argument);
    EXPECT_THROW(queue_delay({.interval = -1ms}), std::invalid_argument);
    EXPECT_THROW(queue_delay({.period = 0ms}), std::invalid_argument);
}

}  // namespace
}  // namespace weft::test
