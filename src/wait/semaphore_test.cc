// semaphore_test.cc: the count, and a hand-over by another thread.
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <weft/semaphore.h>

#include "support/scale.h"

namespace weft::detail {
namespace {

using namespace std::chrono_literals;

static_assert(counting_semaphore<>::max() == (1 << 30) - 1);
static_assert(counting_semaphore<7>::max() == 7);
static_assert(binary_semaphore::max() == 1);
static_assert(!std::is_copy_constructible_v<binary_semaphore> && !std::is_move_constructible_v<binary_semaphore>);
static_assert(sizeof(counting_semaphore<>) == 24);

constinit counting_semaphore<3> semaphore_made_at_compile_time(2);

TEST(Semaphore, HoldsAsManyUnitsAsItBeganWith) {
    counting_semaphore<5> s(3);
    EXPECT_TRUE(s.try_acquire());
    EXPECT_TRUE(s.try_acquire());
    EXPECT_TRUE(s.try_acquire());
    EXPECT_FALSE(s.try_acquire());
    EXPECT_TRUE(semaphore_made_at_compile_time.try_acquire());
    semaphore_made_at_compile_time.release();
}

TEST(Semaphore, ReleasedUnitsCanBeAcquired) {
    counting_semaphore<> s(0);
    EXPECT_FALSE(s.try_acquire());
    s.release(3);
    s.acquire();
    s.acquire();
    EXPECT_TRUE(s.try_acquire_for(1h));
    EXPECT_FALSE(s.try_acquire());
}

TEST(Semaphore, ReleasingNothingChangesNothing) {
    counting_semaphore<> s(0);
    s.release(0);
    EXPECT_FALSE(s.try_acquire());
    s.release(1);
    s.release(0);
    EXPECT_TRUE(s.try_acquire());
    EXPECT_FALSE(s.try_acquire());
}

TEST(Semaphore, HoldsUpToMaxUnits) {
    counting_semaphore<> s(counting_semaphore<>::max());
    EXPECT_TRUE(s.try_acquire());
    s.release();
    binary_semaphore b(1);
    b.acquire();
    b.release();
    EXPECT_TRUE(b.try_acquire());
}

TEST(Semaphore, ATimeoutLeavesNoWaiterBehind) {
    counting_semaphore<> s(0);
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(s.try_acquire_for(0s));
        EXPECT_FALSE(s.try_acquire_for(-1h));
        EXPECT_FALSE(s.try_acquire_for(100us));
        EXPECT_FALSE(s.try_acquire_until(std::chrono::steady_clock::now() - 1s));
        EXPECT_FALSE(s.try_acquire_until(std::chrono::system_clock::now() + 100us));
    }
    s.release();
    EXPECT_TRUE(s.try_acquire());
    EXPECT_FALSE(s.try_acquire());
}

TEST(Semaphore, MayBeDestroyedRightAfterTheLastAcquire) {
    const int rounds = test::scaled(2000);
    for (int i = 0; i < rounds; ++i) {
        std::thread other;
        {
            binary_semaphore s(0);
            other = std::thread([&s] { s.release(); });
            s.acquire();
        }
        other.join();
    }
}

}  // namespace
}  // namespace weft::detail
