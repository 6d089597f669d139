// barrier_test.cc: phases, as one thread sees them.
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/barrier.h>

namespace weft {
namespace {

static_assert(barrier<>::max() == (1 << 30) - 1);
static_assert(!std::is_copy_constructible_v<barrier<>> && !std::is_move_constructible_v<barrier<>>);
static_assert(std::is_move_constructible_v<barrier<>::injected_token>);
static_assert(!std::is_copy_constructible_v<barrier<>::injected_token>);

constinit barrier<> barrier_made_at_compile_time(1);

TEST(Barrier, APhaseEndsWhenAllHaveArrived) {
    barrier<> b(3);
    auto first = b.arrive();
    auto others = b.arrive(2);
    b.wait(std::move(first));
    b.wait(std::move(others));
    barrier_made_at_compile_time.arrive_and_wait();
}

TEST(Barrier, OnePartyNeverWaits) {
    barrier<> b(1);
    for (int i = 0; i < 10; ++i) b.arrive_and_wait();
    auto last = b.arrive();
    auto next = b.arrive();
    b.wait(std::move(last));
    b.wait(std::move(next));
}

TEST(Barrier, TheLastToArriveCallsTheCompletion) {
    int phases = 0;
    const auto count = [&phases]() noexcept { ++phases; };
    barrier b(2, count);
    auto early = b.arrive();
    EXPECT_EQ(phases, 0);
    b.arrive_and_wait();
    EXPECT_EQ(phases, 1);
    b.wait(std::move(early));
    auto both = b.arrive(2);
    EXPECT_EQ(phases, 2);
    b.wait(std::move(both));
}

TEST(Barrier, ADroppedPartyIsNoLongerExpected) {
    int phases = 0;
    barrier b(3, [&phases]() noexcept { ++phases; });
    b.arrive_and_drop();
    auto others = b.arrive(2);
    EXPECT_EQ(phases, 1);
    b.wait(std::move(others));
    others = b.arrive(1);
    EXPECT_EQ(phases, 1);
    b.arrive_and_drop();
    EXPECT_EQ(phases, 2);
    b.wait(std::move(others));
    b.arrive_and_wait();
    EXPECT_EQ(phases, 3);
}

TEST(Barrier, AWaitForACompletedPhaseReturnsAtOnce) {
    barrier<> b(1);
    auto over = b.arrive();
    EXPECT_FALSE(std::is_empty_v<barrier<>::injected_token>);
    b.wait(std::move(over));
}

// A phase's number wraps around.
TEST(Barrier, CountsManyPhases) {
    long phases = 0;
    barrier b(1, [&phases]() noexcept { ++phases; });
    for (int i = 0; i < 100'000; ++i) b.arrive_and_wait();
    EXPECT_EQ(phases, 100'000);
}

}  // namespace
}  // namespace weft
