// monitor_pace_test.cc: how often the monitor looks, and when it goes far.
#include "monitor/monitor_pace.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

// A look that saw queued work.
void look(monitor_pace& pace, bool amiss) {
    pace.begin_look(true);
    pace.judged(amiss);
}

TEST(MonitorPace, GoesFarAfterFourLooksThatSawNothingQueued) {
    monitor_pace pace;
    for (int i = 0; i < monitor_pace::quiet_looks; ++i) {
        EXPECT_FALSE(pace.goes_far());
        pace.begin_look(false);
    }
    EXPECT_TRUE(pace.goes_far());
}

TEST(MonitorPace, QueuedWorkKeepsItNear) {
    monitor_pace pace;
    for (int i = 0; i < 20; ++i) {
        for (int k = 1; k < monitor_pace::quiet_looks; ++k) pace.begin_look(false);
        pace.begin_look(true);
        EXPECT_FALSE(pace.goes_far());
    }
}

TEST(MonitorPace, BecomesCalmAndLooksLessOften) {
    monitor_pace pace;
    for (int i = 0; i < monitor_pace::calm_looks; ++i) {
        EXPECT_EQ(pace.next_in_ns(), monitor_pace::look_ns) << i;
        look(pace, false);
    }
    int64_t last_ns = monitor_pace::look_ns;
    for (int i = 0; i < 10; ++i) {
        look(pace, false);
        EXPECT_GE(pace.next_in_ns(), last_ns);
        last_ns = pace.next_in_ns();
    }
    EXPECT_EQ(last_ns, monitor_pace::calm_ns);
    look(pace, true);
    EXPECT_EQ(pace.next_in_ns(), monitor_pace::look_ns);
}

TEST(MonitorPace, IsHotAfterAPWasTaken) {
    monitor_pace pace;
    look(pace, true);
    pace.took_p(false);
    EXPECT_EQ(pace.next_in_ns(), monitor_pace::hot_ns);
    for (int i = 0; i < monitor_pace::hot_looks; ++i) {
        pace.begin_look(true);
        EXPECT_EQ(pace.next_in_ns(), monitor_pace::hot_ns) << i;
    }
    pace.begin_look(true);
    EXPECT_EQ(pace.next_in_ns(), monitor_pace::look_ns);
}

TEST(MonitorPace, IsNotCalmForLongAfterAnMBlocked) {
    monitor_pace pace;
    pace.took_p(true);
    const int looks = monitor_pace::retaken_looks + monitor_pace::calm_looks;
    for (int i = 0; i < looks; ++i) {
        look(pace, false);
        EXPECT_LE(pace.next_in_ns(), monitor_pace::look_ns) << i;
    }
    for (int i = 0; i < 2; ++i) look(pace, false);
    EXPECT_GT(pace.next_in_ns(), monitor_pace::look_ns);
}

TEST(MonitorPace, PollsForOthersAndAWhileLonger) {
    monitor_pace pace;
    pace.begin_look(false);
    pace.poll(true);
    EXPECT_EQ(pace.next_in_ns(), monitor_pace::poll_ns);
    for (int i = 0; i < monitor_pace::io_looks; ++i) {
        EXPECT_FALSE(pace.goes_far()) << i;
        pace.begin_look(false);
        pace.poll(false);
    }
    EXPECT_TRUE(pace.goes_far());
}

TEST(MonitorPace, WithoutNeedOfThePollerItGoesFarAsUsual) {
    monitor_pace pace;
    for (int i = 0; i < monitor_pace::quiet_looks; ++i) {
        pace.begin_look(false);
        pace.poll(false);
    }
    EXPECT_TRUE(pace.goes_far());
}

TEST(MonitorPace, CalledAgainSoonItStaysLonger) {
    monitor_pace pace;
    pace.come_near(monitor_pace::woken_by::work_soon, true);
    int looks = 0;
    for (; !pace.goes_far(); ++looks) pace.begin_look(false);
    EXPECT_EQ(looks, monitor_pace::patient_looks + monitor_pace::quiet_looks);
}

TEST(MonitorPace, ForItsOwnBusinessItLooksOnce) {
    monitor_pace pace;
    pace.come_near(monitor_pace::woken_by::other, true);
    EXPECT_FALSE(pace.goes_far());
    pace.begin_look(false);
    EXPECT_TRUE(pace.goes_far());
}

TEST(MonitorPace, AnEarlierLookIsKept) {
    monitor_pace pace;
    pace.begin_look(true);
    pace.within(200'000);
    pace.within(300'000);
    pace.judged(false);
    EXPECT_EQ(pace.next_in_ns(), 200'000);
}

}  // namespace
}  // namespace weft::detail
