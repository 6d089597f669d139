// prng_test.cc: the generator repeats itself from a seed, and spreads.
#include "base/prng.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

std::vector<uint32_t> first(uint64_t seed, int n) {
    prng random(seed);
    std::vector<uint32_t> numbers;
    for (int i = 0; i < n; ++i) numbers.push_back(random.next());
    return numbers;
}

TEST(Prng, TheSameSeedGivesTheSameNumbers) { EXPECT_EQ(first(7, 1000), first(7, 1000)); }

TEST(Prng, AdjacentSeedsGiveDifferentNumbers) {
    EXPECT_NE(first(7, 10), first(8, 10));
    EXPECT_NE(first(0, 10), first(1, 10));
}

TEST(Prng, NoSeedIsStuck) {
    // The third one is the seed whose state would be zero.
    for (const uint64_t seed : {uint64_t{0}, UINT64_MAX, (0 - uint64_t{0x2545F4914F6CDD1D}) * 0xF1DE83E19937733D}) {
        const std::vector<uint32_t> numbers = first(seed, 1000);
        const std::set<uint32_t> different(numbers.begin(), numbers.end());
        EXPECT_GT(different.size(), 990U) << seed;
    }
}

TEST(Prng, NumbersBelowABoundReachEveryValueAboutEquallyOften) {
    prng random(1);
    for (const uint32_t bound : {1U, 2U, 3U, 7U, 64U, 1000U}) {
        const uint32_t draws = bound * 1000;
        std::vector<uint32_t> count(bound);
        for (uint32_t i = 0; i < draws; ++i) {
            const uint32_t number = random.below(bound);
            ASSERT_LT(number, bound);
            ++count[number];
        }
        const auto [least, most] = std::minmax_element(count.begin(), count.end());
        EXPECT_GT(*least, 800U) << bound;
        EXPECT_LT(*most, 1200U) << bound;
    }
}

TEST(Prng, NumbersBelowALargeBoundStayBelowIt) {
    prng random(3);
    for (int i = 0; i < 1000; ++i) {
        EXPECT_LT(random.below(UINT32_MAX), UINT32_MAX);
    }
}

}  // namespace
}  // namespace weft::detail
