// monitor_pace_test.cc: how often the monitor scans, and when it goes dormant.
#include "monitor/monitor_pace.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

// A scan that saw queued work.
void scan(monitor_pace& pace, bool amiss) {
    pace.begin_scan(true);
    pace.judged(amiss);
}

TEST(MonitorPace, GoesDormantAfterFourScansThatSawNothingQueued) {
    monitor_pace pace;
    for (int i = 0; i < monitor_pace::quiet_scans; ++i) {
        EXPECT_FALSE(pace.goes_dormant());
        pace.begin_scan(false);
    }
    EXPECT_TRUE(pace.goes_dormant());
}

TEST(MonitorPace, QueuedWorkKeepsItActive) {
    monitor_pace pace;
    for (int i = 0; i < 20; ++i) {
        for (int k = 1; k < monitor_pace::quiet_scans; ++k) pace.begin_scan(false);
        pace.begin_scan(true);
        EXPECT_FALSE(pace.goes_dormant());
    }
}

TEST(MonitorPace, BecomesCalmAndScansLessOften) {
    monitor_pace pace;
    for (int i = 0; i < monitor_pace::calm_scans; ++i) {
        EXPECT_EQ(pace.next_in_ns(), monitor_pace::scan_ns) << i;
        scan(pace, false);
    }
    int64_t last_ns = monitor_pace::scan_ns;
    for (int i = 0; i < 10; ++i) {
        scan(pace, false);
        EXPECT_GE(pace.next_in_ns(), last_ns);
        last_ns = pace.next_in_ns();
    }
    EXPECT_EQ(last_ns, monitor_pace::calm_ns);
    scan(pace, true);
    EXPECT_EQ(pace.next_in_ns(), monitor_pace::scan_ns);
}

TEST(MonitorPace, IsHotAfterAPWasTaken) {
    monitor_pace pace;
    scan(pace, true);
    pace.took_p(false);
    EXPECT_EQ(pace.next_in_ns(), monitor_pace::hot_ns);
    for (int i = 0; i < monitor_pace::hot_scans; ++i) {
        pace.begin_scan(true);
        EXPECT_EQ(pace.next_in_ns(), monitor_pace::hot_ns) << i;
    }
    pace.begin_scan(true);
    EXPECT_EQ(pace.next_in_ns(), monitor_pace::scan_ns);
}

TEST(MonitorPace, IsNotCalmForLongAfterAnMBlocked) {
    monitor_pace pace;
    pace.took_p(true);
    const int scans = monitor_pace::retaken_scans + monitor_pace::calm_scans;
    for (int i = 0; i < scans; ++i) {
        scan(pace, false);
        EXPECT_LE(pace.next_in_ns(), monitor_pace::scan_ns) << i;
    }
    for (int i = 0; i < 2; ++i) scan(pace, false);
    EXPECT_GT(pace.next_in_ns(), monitor_pace::scan_ns);
}

TEST(MonitorPace, PollsForOthersAndAWhileLonger) {
    monitor_pace pace;
    pace.begin_scan(false);
    pace.poll(true);
    EXPECT_EQ(pace.next_in_ns(), monitor_pace::poll_ns);
    for (int i = 0; i < monitor_pace::io_scans; ++i) {
        EXPECT_FALSE(pace.goes_dormant()) << i;
        pace.begin_scan(false);
        pace.poll(false);
    }
    EXPECT_TRUE(pace.goes_dormant());
}

TEST(MonitorPace, WithoutNeedOfThePollerItGoesDormantAsUsual) {
    monitor_pace pace;
    for (int i = 0; i < monitor_pace::quiet_scans; ++i) {
        pace.begin_scan(false);
        pace.poll(false);
    }
    EXPECT_TRUE(pace.goes_dormant());
}

TEST(MonitorPace, CalledAgainSoonItStaysLonger) {
    monitor_pace pace;
    pace.become_active(monitor_pace::woken_by::work_soon, true);
    int scans = 0;
    for (; !pace.goes_dormant(); ++scans) pace.begin_scan(false);
    EXPECT_EQ(scans, monitor_pace::patient_scans + monitor_pace::quiet_scans);
}

TEST(MonitorPace, ForItsOwnBusinessItScansOnce) {
    monitor_pace pace;
    pace.become_active(monitor_pace::woken_by::other, true);
    EXPECT_FALSE(pace.goes_dormant());
    pace.begin_scan(false);
    EXPECT_TRUE(pace.goes_dormant());
}

TEST(MonitorPace, AnEarlierScanIsKept) {
    monitor_pace pace;
    pace.begin_scan(true);
    pace.within(200'000);
    pace.within(300'000);
    pace.judged(false);
    EXPECT_EQ(pace.next_in_ns(), 200'000);
}

}  // namespace
}  // namespace weft::detail
