// count_word_test.cc: the count, in one thread, and a wake-up by another.
#include <cstdint>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include <weft/detail/count_word.h>

#include "support/scale.h"

namespace weft::detail {
namespace {

constexpr wait_reason why = wait_reason::wait_group_wait;

TEST(CountWord, BeginsAtZeroAndDoesNotWait) {
    count_word count;
    EXPECT_TRUE(count.is_zero());
    count.wait(why);
    EXPECT_TRUE(count.wait_cancellable(why, 0) == wait_result::served);
    EXPECT_TRUE(count.wait_cancellable(why, never) == wait_result::served);
}

TEST(CountWord, IsZeroOnceTheSumIsZero) {
    count_word count;
    count.add(3);
    EXPECT_FALSE(count.is_zero());
    count.add(-1);
    count.add(2);
    count.add(-3);
    EXPECT_FALSE(count.is_zero());
    count.add(-1);
    EXPECT_TRUE(count.is_zero());
    count.wait(why);
}

TEST(CountWord, AddingNothingChangesNothing) {
    count_word count;
    count.add(0);
    EXPECT_TRUE(count.is_zero());
    count.add(1);
    count.add(0);
    EXPECT_FALSE(count.is_zero());
    count.add(-1);
    EXPECT_TRUE(count.is_zero());
}

TEST(CountWord, HoldsTheLargestCount) {
    count_word count;
    count.add(count_word::max_count);
    EXPECT_FALSE(count.is_zero());
    count.add(-1);
    count.add(1);
    count.add(-count_word::max_count);
    EXPECT_TRUE(count.is_zero());
}

TEST(CountWord, ADeadlineOfZeroDoesNotWait) {
    count_word count;
    count.add(1);
    EXPECT_FALSE(count.wait_cancellable(why, 0) == wait_result::served);
    count.add(-1);
}

TEST(CountWord, ATimeoutLeavesNoWaiterBehind) {
    count_word count;
    count.add(2);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(count.wait_cancellable(why, 1) == wait_result::served);
    count.add(-1);
    EXPECT_FALSE(count.wait_cancellable(why, now_ns() + 100'000) == wait_result::served);
    count.add(-1);
    EXPECT_TRUE(count.is_zero());
    EXPECT_TRUE(count.wait_cancellable(why, 1) == wait_result::served);
}

// add() may still be returning then.
TEST(CountWord, MayBeDestroyedAsSoonAsItsWaitHasReturned) {
    const int rounds = test::scaled(3'000);
    std::optional<count_word> count;
    atomic<int> turn{0};
    std::thread other([&] {
        for (int i = 1; i <= rounds; ++i) {
            while (turn.load() != i) std::this_thread::yield();
            count->add(-1);
        }
    });
    for (int i = 1; i <= rounds; ++i) {
        count.emplace();
        count->add(1);
        turn.store(i);
        count->wait(why);
        count.reset();
    }
    other.join();
}

}  // namespace
}  // namespace weft::detail
