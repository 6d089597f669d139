// latch_test.cc: the count, in one thread.
#include <chrono>
#include <type_traits>

#include <gtest/gtest.h>

#include <weft/latch.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

static_assert(latch::max() == (1 << 30) - 1);
static_assert(!std::is_copy_constructible_v<latch> && !std::is_move_constructible_v<latch>);
static_assert(sizeof(latch) == 24);

constinit latch latch_made_at_compile_time(1);

TEST(Latch, IsOpenAtZero) {
    const latch l(0);
    EXPECT_TRUE(l.try_wait());
    l.wait();
    EXPECT_TRUE(l.wait_for(0s));
}

TEST(Latch, OpensWhenTheCountReachesZero) {
    latch l(5);
    l.count_down();
    l.count_down(3);
    EXPECT_FALSE(l.try_wait());
    l.count_down(0);
    EXPECT_FALSE(l.try_wait());
    l.count_down();
    EXPECT_TRUE(l.try_wait());
    l.count_down(0);
    l.wait();
    EXPECT_FALSE(latch_made_at_compile_time.try_wait());
    latch_made_at_compile_time.count_down();
    EXPECT_TRUE(latch_made_at_compile_time.try_wait());
}

TEST(Latch, TheLastToArriveDoesNotWait) {
    latch l(3);
    l.count_down();
    l.arrive_and_wait(2);
    EXPECT_TRUE(l.try_wait());
    latch largest(latch::max());
    largest.arrive_and_wait(latch::max());
    EXPECT_TRUE(largest.try_wait());
}

TEST(Latch, ATimeoutLeavesNoWaiterBehind) {
    latch l(1);
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(l.wait_for(0s));
        EXPECT_FALSE(l.wait_for(100us));
        EXPECT_FALSE(l.wait_until(std::chrono::steady_clock::now() + 100us));
        EXPECT_FALSE(l.wait_until(std::chrono::system_clock::now() - 1h));
    }
    l.count_down();
    EXPECT_TRUE(l.wait_for(0s));
    EXPECT_TRUE(l.wait_until(std::chrono::steady_clock::now() - 1h));
}

// Without waiters, even after a wait timed out.
TEST(Latch, MayBeDestroyedBeforeItIsOpen) {
    latch l(2);
    EXPECT_FALSE(l.wait_for(1us));
}

}  // namespace
}  // namespace weft
