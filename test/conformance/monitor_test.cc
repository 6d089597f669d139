// monitor_test.cc: while no G waits for a P, no P is retaken and no thread is woken to check.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "os/os.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Calm: in a storm the monitor always scans.
class Monitor : private calm, public procs_test {
protected:
    // How often the monitor scans while body runs, after it has had time to go dormant.
    template <typename F>
    uint64_t scans_during(F&& body) {
        eventually([this] {
            const uint64_t before = rt().stats().monitor_looks;
            std::this_thread::sleep_for(20ms);
            return rt().stats().monitor_looks == before;  // 2 ms would do, unless the machine hardly runs the monitor
        });
        const uint64_t before = rt().stats().monitor_looks;
        body();
        return rt().stats().monitor_looks - before;
    }

    void expect_nothing_was_taken() {
        const stats_snapshot s = rt().stats();
        EXPECT_EQ(s.retakes_blocked, 0U);
        EXPECT_EQ(s.retakes_burning, 0U);
        EXPECT_EQ(s.retakes_in_call, 0U);
        EXPECT_EQ(s.yield_requests, 0U);
    }
};

WEFT_SWEEP_OVER(Monitor, 1U, 2U, 4U);

// Periodic scans, even at 10 ms intervals, would number 30 or more in this time.
constexpr auto while_nothing_happens = 300ms;
constexpr uint64_t few_scans = 5;

constexpr const char* looks_often = "without membarrier the monitor scans every 10 ms while a P runs";

TEST_P(Monitor, DoesNotScanAnIdleRuntime) {
    rt().run([] { weft::yield(); });
    EXPECT_LE(scans_during([] { std::this_thread::sleep_for(while_nothing_happens); }), few_scans);
    expect_nothing_was_taken();
}

TEST_P(Monitor, RetakesNothingWhileNoGIsRunnable) {
    if (!detail::os::has_heavy_fence()) GTEST_SKIP() << looks_often;
    std::atomic<bool> over = false;
    std::atomic<unsigned> began = 0;
    for (unsigned i = 0; i < procs(); ++i) {
        rt().go([&, i] {
            const int mine = os_thread_id();
            ++began;
            switch (i) {
                case 0:
                    while (!over) {}
                    break;
                case 1:
                    while (!over) ::usleep(1000);
                    break;
                default:
                    blocking([&] {
                        while (!over) ::usleep(1000);
                    });
            }
            EXPECT_EQ(os_thread_id(), mine);
        });
    }
    eventually([&] { return began == procs(); });
    EXPECT_LE(scans_during([] { std::this_thread::sleep_for(while_nothing_happens); }), few_scans);
    over = true;
    rt().drain();
}

// The M that goes idle waits for the sleeper's timer itself: neither another M nor the monitor has
// to be woken.
TEST_P(Monitor, ASleepWakesNoOtherThread) {
    constexpr unsigned sleeps = 20;
    uint64_t wakes = 0;
    const uint64_t scans = scans_during([&] {
        rt().run([&] {
            const uint64_t before = rt().stats().wakes;
            for (unsigned i = 0; i < sleeps; ++i) sleep_for(20ms);
            wakes = rt().stats().wakes - before;
        });
    });
    EXPECT_LE(scans, sleeps / 2);
    EXPECT_LE(wakes, sleeps / 4);
}

// A timer far in the future is no reason to scan earlier.
TEST_P(Monitor, SleepsUntilATimerIsDue) {
    if (!detail::os::has_heavy_fence()) GTEST_SKIP() << looks_often;
    std::atomic<bool> over = false;
    std::atomic<bool> fired = false;
    std::atomic<unsigned> began = 0;
    const timer far = rt().run([&] { return after_func(1h, [] {}); });
    for (unsigned i = 0; i < procs(); ++i) {
        rt().go([&] {
            ++began;
            while (!over) {}
        });
    }
    eventually([&] { return began == procs(); });
    EXPECT_LE(scans_during([] { std::this_thread::sleep_for(while_nothing_happens); }), few_scans);
    // A near one fires: the hogs do not delay it.
    timer soon = rt().async([&] { return after_func(30ms, [&] { fired = true; }); }).get();
    eventually([&] { return fired.load(); });
    over = true;
    rt().drain();
}

}  // namespace
}  // namespace weft::test
