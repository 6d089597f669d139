// condition_variable_test.cc: wait and notify in one plain thread; destruction with several.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <weft/condition_variable.h>
#include <weft/latch.h>

#include "support/scale.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<condition_variable> && !std::is_move_constructible_v<condition_variable>);
static_assert(!std::is_copy_constructible_v<condition_variable_any>);

template <typename Condition>
class ConditionVariable : public ::testing::Test {};

using both = ::testing::Types<condition_variable, condition_variable_any>;
TYPED_TEST_SUITE(ConditionVariable, both);

TYPED_TEST(ConditionVariable, ANotifyWithoutWaitersHasNoEffect) {
    mutex m;
    TypeParam c;
    c.notify_one();
    c.notify_all();
    std::unique_lock lock(m);
    EXPECT_EQ(c.wait_for(lock, 100us), std::cv_status::timeout);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_FALSE(m.try_lock());
}

TYPED_TEST(ConditionVariable, ATimeoutLeavesNoWaiterBehind) {
    mutex m;
    TypeParam c;
    std::unique_lock lock(m);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(c.wait_for(lock, -1h), std::cv_status::timeout);
        EXPECT_EQ(c.wait_for(lock, 100us), std::cv_status::timeout);
        EXPECT_EQ(c.wait_until(lock, std::chrono::steady_clock::now() + 100us), std::cv_status::timeout);
        EXPECT_EQ(c.wait_until(lock, std::chrono::system_clock::now() - 1h), std::cv_status::timeout);
    }
    c.notify_one();
    c.notify_all();
}

TYPED_TEST(ConditionVariable, APredicateThatIsTrueDoesNotWait) {
    mutex m;
    TypeParam c;
    std::unique_lock lock(m);
    int looks = 0;
    const auto yes = [&looks] { return ++looks != 0; };
    c.wait(lock, yes);
    EXPECT_TRUE(c.wait_for(lock, 1h, yes));
    EXPECT_TRUE(c.wait_until(lock, std::chrono::steady_clock::now() + 1h, yes));
    EXPECT_TRUE(c.wait(lock, std::stop_token(), yes));
    EXPECT_TRUE(c.wait_for(lock, std::stop_token(), 1h, yes));
    EXPECT_TRUE(c.wait_until(lock, std::stop_token(), std::chrono::steady_clock::now() + 1h, yes));
    EXPECT_EQ(looks, 6);
}

TYPED_TEST(ConditionVariable, ATimeoutReturnsThePredicate) {
    mutex m;
    TypeParam c;
    std::unique_lock lock(m);
    int looks = 0;
    EXPECT_FALSE(c.wait_for(lock, 100us, [&] { return ++looks > 2; }));
    EXPECT_EQ(looks, 2);  // before and after
    EXPECT_TRUE(c.wait_for(lock, 100us, [&] { return ++looks > 3; }));
    EXPECT_EQ(looks, 4);
    EXPECT_FALSE(c.wait_until(lock, std::chrono::steady_clock::now(), [] { return false; }));
}

TYPED_TEST(ConditionVariable, AStopRequestedBeforeDoesNotWait) {
    mutex m;
    TypeParam c;
    std::stop_source stop;
    stop.request_stop();
    std::unique_lock lock(m);
    EXPECT_FALSE(c.wait(lock, stop.get_token(), [] { return false; }));
    EXPECT_TRUE(c.wait(lock, stop.get_token(), [] { return true; }));
    EXPECT_FALSE(c.wait_for(lock, stop.get_token(), 1h, [] { return false; }));
    EXPECT_TRUE(lock.owns_lock());
}

TYPED_TEST(ConditionVariable, AStopTokenWithoutASourceIsOnlyATimeout) {
    mutex m;
    TypeParam c;
    std::unique_lock lock(m);
    EXPECT_FALSE(c.wait_for(lock, std::stop_token(), 100us, [] { return false; }));
    std::stop_source stop;
    EXPECT_FALSE(c.wait_for(lock, stop.get_token(), 100us, [] { return false; }));
    stop.request_stop();  // its callback is unregistered
}

// A plain thread that is notified just as it times out locks the queue again.
TYPED_TEST(ConditionVariable, MayBeDestroyedAfterNotifyDespiteTimeouts) {
    const int rounds = test::scaled(500);
    for (int i = 0; i < rounds; ++i) {
        mutex m;
        auto c = std::make_unique<TypeParam>();
        latch ready(2);
        std::vector<std::thread> threads;
        for (int t = 0; t < 2; ++t) {
            threads.emplace_back([&, wait = c.get(), time = std::chrono::microseconds(i % 40)] {
                std::unique_lock lock(m);
                ready.count_down();
                (void)wait->wait_for(lock, time);
            });
        }
        ready.wait();
        m.lock();  // both wait or have waited
        m.unlock();
        c->notify_all();
        c.reset();
        for (std::thread& t : threads) t.join();
    }
}

}  // namespace
}  // namespace weft
