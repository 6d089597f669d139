// sentinel_backoff_test.cc: the period between scans, and when the near sentinel backs off.
#include "idle/sentinel_backoff.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

// The periods after scans that saw so many schedules each.
std::vector<int64_t> periods(const std::vector<uint64_t>& schedules) {
    sentinel_backoff backoff{.ticks = 1000};
    EXPECT_EQ(backoff.period_ns, sentinel_near_ns);
    std::vector<int64_t> all;
    uint64_t ticks = 1000;
    for (const uint64_t n : schedules) {
        backoff.scanned(ticks += n);
        all.push_back(backoff.period_ns);
    }
    return all;
}

bool backs_off(const std::vector<uint64_t>& schedules) { return periods(schedules).back() == never; }

TEST(SentinelBackoff, DoublesThePeriodUpToTheLongest) {
    EXPECT_EQ(periods({1, 7, 1, 1000}), (std::vector<int64_t>{200'000, 400'000, 400'000, 400'000}));
}

TEST(SentinelBackoff, BacksOffAfterFourScansInARowWithoutASchedule) {
    EXPECT_FALSE(backs_off({0, 0, 0}));
    EXPECT_TRUE(backs_off({0, 0, 0, 0}));
    EXPECT_FALSE(backs_off({0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}));
}

TEST(SentinelBackoff, BeginsAgainWhenSomethingIsScheduled) {
    EXPECT_EQ(periods({0, 0, 0, 0, 1, 1}), (std::vector<int64_t>{200'000, 400'000, 400'000, never, 100'000, 200'000}));
}

}  // namespace
}  // namespace weft::detail
