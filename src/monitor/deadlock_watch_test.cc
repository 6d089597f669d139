// deadlock_watch_test.cc: when the monitor searches for a deadlock, and when it stops.
#include "monitor/deadlock_watch.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "support/units.h"

namespace weft::detail {
namespace {

using test::ms;

// The times of the searches after a request at 0, while everything sleeps, in ms.
std::vector<int64_t> searches_of(deadlock_watch& watch, uint64_t ticks, bool others) {
    std::vector<int64_t> all;
    watch.begin(ticks, 0);
    for (int guard = 0; watch.watches() && guard < 100; ++guard) {
        const int64_t now_ns = watch.next_ns();
        if (!watch.check(ticks, true, now_ns)) continue;
        all.push_back(now_ns / ms);
        watch.searched(others, now_ns);
    }
    EXPECT_FALSE(watch.watches());
    return all;
}

TEST(DeadlockWatch, SearchesSixTimesAndStops) {
    deadlock_watch watch;
    EXPECT_EQ(searches_of(watch, 1, false), (std::vector<int64_t>{10, 50, 210, 850, 20'850, 40'850}));
}

TEST(DeadlockWatch, SearchesSeldomWhereOthersCanWakeAG) {
    deadlock_watch watch;
    EXPECT_EQ(searches_of(watch, 1, true), (std::vector<int64_t>{10, 1'510, 21'510, 41'510, 61'510, 81'510}));
    // It remembers that others could.
    EXPECT_EQ(searches_of(watch, 2, true), (std::vector<int64_t>{1'500, 21'500, 41'500, 61'500, 81'500}));
}

TEST(DeadlockWatch, AnotherRequestIsNoReasonIfNothingWasScheduledSince) {
    deadlock_watch watch;
    EXPECT_EQ(searches_of(watch, 1, false).size(), 6U);
    EXPECT_TRUE(searches_of(watch, 1, false).empty());
    EXPECT_EQ(searches_of(watch, 2, false).size(), 6U);
}

TEST(DeadlockWatch, WaitsWhileSomethingIsScheduled) {
    deadlock_watch watch;
    watch.begin(0, 0);
    int64_t now_ns = watch.next_ns();
    for (uint64_t ticks = 1; ticks < 10; ++ticks) {
        EXPECT_FALSE(watch.check(ticks, true, now_ns));
        EXPECT_EQ(watch.next_ns(), now_ns + deadlock_watch::moving_ns);
        now_ns = watch.next_ns();
    }
    EXPECT_TRUE(watch.check(9, true, now_ns));
}

TEST(DeadlockWatch, StopsWhileAGRunsOrATimerIsSet) {
    deadlock_watch watch;
    watch.begin(3, 0);
    EXPECT_FALSE(watch.check(3, false, watch.next_ns()));
    EXPECT_FALSE(watch.watches());
}

TEST(DeadlockWatch, AScheduleAfterASearchBeginsAnew) {
    deadlock_watch watch;
    watch.begin(3, 0);
    EXPECT_TRUE(watch.check(3, true, 10 * ms));
    watch.searched(false, 10 * ms);
    EXPECT_FALSE(watch.check(4, true, watch.next_ns()));
    const int64_t now_ns = watch.next_ns();
    EXPECT_TRUE(watch.check(4, true, now_ns));
    watch.searched(false, now_ns);
    EXPECT_EQ(watch.next_ns(), now_ns + 4 * deadlock_watch::first_ns);
}

}  // namespace
}  // namespace weft::detail
