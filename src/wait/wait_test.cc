// wait_test.cc: claims and queues of waiters, without blocking.
#include <array>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/detail/wait.h>

#include "support/scale.h"

namespace weft::detail {
namespace {

TEST(ClaimWord, AClaimBeforeTheParkNeedsNoReady) {
    claim_word claim;
    bool must_ready = true;
    EXPECT_TRUE(claim.try_claim(0, must_ready));
    EXPECT_FALSE(must_ready);
    EXPECT_FALSE(claim.publish_parked()) << "the parking side carries on by itself";
}

TEST(ClaimWord, AClaimAfterTheParkMustReady) {
    claim_word claim;
    EXPECT_TRUE(claim.publish_parked());
    bool must_ready = false;
    EXPECT_TRUE(claim.try_claim(0, must_ready));
    EXPECT_TRUE(must_ready);
}

TEST(ClaimWord, OnlyTheFirstClaimWins) {
    claim_word claim;
    bool must_ready = true;
    EXPECT_TRUE(claim.try_claim(0, must_ready));
    bool untouched = true;
    EXPECT_FALSE(claim.try_claim(1, untouched));
    EXPECT_TRUE(untouched);
}

TEST(ClaimWord, InARaceExactlyOnePartyReadiesTheWaiter) {
    const int rounds = test::scaled(5'000);
    for (int i = 0; i < rounds; ++i) {
        claim_word claim;
        std::array<bool, 2> won{};
        std::array<bool, 2> readies{};
        bool parker_readies = false;
        atomic<int> at_start{0};
        const auto start = [&] {
            at_start.fetch_add(1);
            while (at_start.load() < 3) std::this_thread::yield();
        };
        const auto claimer = [&](int who) {
            start();
            bool must_ready = false;
            won[who] = claim.try_claim(0, must_ready);
            readies[who] = won[who] && must_ready;
        };
        std::thread a(claimer, 0);
        std::thread b(claimer, 1);
        start();
        parker_readies = !claim.publish_parked();
        a.join();
        b.join();
        ASSERT_EQ(won[0] + won[1], 1);
        ASSERT_EQ(readies[0] + readies[1] + parker_readies, 1);
    }
}

class WaitQueue : public ::testing::Test {
protected:
    void push(std::initializer_list<int> numbers) {
        for (const int i : numbers) queue_.push_back(w_[i]);
    }

    std::vector<int> drained() {
        std::vector<int> order;
        while (const waiter* w = queue_.pop_claimed()) order.push_back(number(w));
        return order;
    }

    [[nodiscard]] int number(const waiter* w) const { return static_cast<int>(w - w_.data()); }

    std::array<waiter, 5> w_;
    wait_queue queue_;
};

TEST_F(WaitQueue, TheOldestLeavesFirst) {
    EXPECT_TRUE(queue_.empty());
    push({0, 1, 2});
    EXPECT_FALSE(queue_.empty());
    EXPECT_EQ(queue_.front(), &w_[0]);
    EXPECT_EQ(drained(), (std::vector{0, 1, 2}));
    EXPECT_TRUE(queue_.empty());
    EXPECT_EQ(queue_.pop_claimed(), nullptr);
}

TEST_F(WaitQueue, AWaiterPushedToTheFrontLeavesNext) {
    push({0, 1});
    queue_.push_front(w_[2]);
    EXPECT_EQ(drained(), (std::vector{2, 0, 1}));
    queue_.push_front(w_[3]);
    push({4});
    EXPECT_EQ(drained(), (std::vector{3, 4}));
}

TEST_F(WaitQueue, AWaiterKnowsWhetherItIsQueued) {
    EXPECT_EQ(w_[0].queue, nullptr);
    push({0, 1});
    EXPECT_EQ(w_[0].queue, &queue_);
    queue_.remove(w_[0]);
    EXPECT_EQ(w_[0].queue, nullptr);
    EXPECT_EQ(queue_.pop_claimed(), &w_[1]);
    EXPECT_EQ(w_[1].queue, nullptr);
}

TEST_F(WaitQueue, AnyWaiterCanBeRemoved) {
    for (int out = 0; out < 3; ++out) {
        push({0, 1, 2});
        queue_.remove(w_[out]);
        std::vector<int> rest{0, 1, 2};
        rest.erase(rest.begin() + out);
        EXPECT_EQ(drained(), rest) << "without " << out;
    }
    push({0});
    queue_.remove(w_[0]);
    EXPECT_TRUE(queue_.empty());
    push({1, 2});
    EXPECT_EQ(drained(), (std::vector{1, 2}));
}

TEST_F(WaitQueue, PopUnlinksWaitersClaimedElsewhere) {
    std::array<claim_word, 5> claims;
    for (int i = 0; i < 5; ++i) w_[i].claim = &claims[i];
    push({0, 1, 2, 3});
    bool ignored = false;
    ASSERT_TRUE(claims[0].try_claim(3, ignored));
    ASSERT_TRUE(claims[2].try_claim(3, ignored));
    EXPECT_EQ(queue_.pop_claimed(), &w_[1]);
    EXPECT_EQ(w_[0].queue, nullptr);
    EXPECT_EQ(queue_.pop_claimed(), &w_[3]);
    EXPECT_EQ(w_[2].queue, nullptr);
    EXPECT_TRUE(queue_.empty());
}

TEST_F(WaitQueue, PopReportsWhetherTheWinnerMustReady) {
    std::array<claim_word, 2> claims;
    w_[0].claim = &claims[0];
    w_[1].claim = &claims[1];
    ASSERT_TRUE(claims[1].publish_parked());
    push({0, 1});
    EXPECT_FALSE(queue_.pop_claimed()->must_ready);
    EXPECT_TRUE(queue_.pop_claimed()->must_ready);
}

TEST_F(WaitQueue, AWaiterWithoutAClaimIsPoppedOnce) {
    push({0});
    EXPECT_EQ(queue_.pop_claimed(), &w_[0]);
    EXPECT_EQ(queue_.pop_claimed(), nullptr);
}

TEST_F(WaitQueue, PopAllReturnsTheClaimedWaitersOldestFirst) {
    std::array<claim_word, 5> claims;
    for (int i = 0; i < 5; ++i) w_[i].claim = &claims[i];
    push({0, 1, 2, 3, 4});
    bool ignored = false;
    ASSERT_TRUE(claims[0].try_claim(3, ignored));
    ASSERT_TRUE(claims[4].try_claim(3, ignored));
    std::vector<int> chain;
    for (const waiter* w = queue_.pop_all_claimed(); w != nullptr; w = w->next) chain.push_back(number(w));
    EXPECT_EQ(chain, (std::vector{1, 2, 3}));
    EXPECT_TRUE(queue_.empty());
    EXPECT_EQ(queue_.pop_all_claimed(), nullptr);
}

}  // namespace
}  // namespace weft::detail
