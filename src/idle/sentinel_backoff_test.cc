// sentinel_backoff_test.cc: how long a sentinel sleeps, and when it goes far.
#include "idle/sentinel_backoff.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

// The periods after looks that saw so many schedules each.
std::vector<int64_t> periods(bool stays, const std::vector<uint64_t>& schedules) {
    sentinel_backoff look{.ticks = 1000, .stays = stays};
    EXPECT_EQ(look.period_ns, sentinel_near_ns);
    std::vector<int64_t> all;
    uint64_t ticks = 1000;
    for (const uint64_t n : schedules) {
        look.look_again(ticks += n);
        all.push_back(look.period_ns);
    }
    return all;
}

bool goes_far(bool stays, const std::vector<uint64_t>& schedules) { return periods(stays, schedules).back() == never; }

TEST(SentinelBackoff, ThePeriodDoublesUpToTheLongest) {
    const std::vector<int64_t> wanted = {200'000, 400'000, 400'000, 400'000};
    EXPECT_EQ(periods(false, {1, 7, 1, 1000}), wanted);
    EXPECT_EQ(periods(true, {1, 7, 1, 1000}), wanted);
}

TEST(SentinelBackoff, StopsAfterFourEmptyScansInARow) {
    for (const bool stays : {false, true}) {
        EXPECT_FALSE(goes_far(stays, {0, 0, 0}));
        EXPECT_TRUE(goes_far(stays, {0, 0, 0, 0}));
    }
    EXPECT_FALSE(goes_far(false, {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}));
}

TEST(SentinelBackoff, WorkResetsThePeriod) {
    EXPECT_EQ(periods(false, {0, 0, 0, 0, 1, 1}),
              (std::vector<int64_t>{200'000, 400'000, 400'000, never, 100'000, 200'000}));
}

TEST(SentinelBackoff, AStayingSentinelNeedsAScheduleForEachScan) {
    EXPECT_FALSE(goes_far(true, {1, 1, 1, 1, 1, 1, 1, 1}));
    EXPECT_FALSE(goes_far(true, {0, 2, 0, 2, 0, 2, 0, 2, 0, 2}));
    EXPECT_TRUE(goes_far(true, {0, 1, 0, 1, 0, 1, 0}));
    EXPECT_FALSE(goes_far(true, {1000, 0, 0, 0}));
    EXPECT_TRUE(goes_far(true, {1000, 0, 0, 0, 0})) << "many at once are no credit";
}

TEST(SentinelBackoff, ASentinelThatStopsNoLongerStays) {
    sentinel_backoff look{.stays = true};
    for (int i = 0; i < sentinel_rounds; ++i) look.look_again(0);
    EXPECT_EQ(look.period_ns, never);
    EXPECT_FALSE(look.stays);
}

}  // namespace
}  // namespace weft::detail
