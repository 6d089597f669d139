// short_slice_test.cc: a slice of 0.1 ms holds for code that checks it and for the monitor. Also:
// processors retaken at random.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/cpu_time.h"
#include "support/environment.h"
#include "support/procs_test.h"
#include "support/retaken.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class ShortSlice : private slices_of_100us, public procs_test {
protected:
    ShortSlice() : procs_test(30s) {}
};

WEFT_SWEEP_OVER(ShortSlice, 1U, 2U, 4U);

// The monitor requests nothing here.
class ShortSliceAlone : private no_retakes, public ShortSlice {};

WEFT_SWEEP_OVER(ShortSliceAlone, 1U, 2U, 4U);

TEST_P(ShortSliceAlone, CheckpointsYieldAfterIt) {
    constexpr uint64_t switches = 100;
    std::chrono::nanoseconds used{};
    rt().run([&] {
        wait_group all;
        std::atomic<bool> over = false;
        const uint64_t before = stats().switches;
        const auto began = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
        for (unsigned i = 0; i < 2 * procs(); ++i) {
            all.go([&] {
                while (!over) {
                    for (int k = 0; k < 1000; ++k) checkpoint();
                    if (stats().switches >= before + switches) over = true;
                }
            });
        }
        all.wait();
        used = cpu_time(CLOCK_PROCESS_CPUTIME_ID) - began;
    });
    EXPECT_LT(used, switches * 3ms);
}

TEST_P(ShortSlice, RetakesHappenAfterIt) {
    auto least = std::chrono::nanoseconds::max();
    crowd others(rt());
    rt().run([&] {
        for (int i = 0; i < 20; ++i) {
            weft::yield();
            const auto began = cpu_time(CLOCK_THREAD_CPUTIME_ID);
            lose_p();
            least = std::min(least, cpu_time(CLOCK_THREAD_CPUTIME_ID) - began);
        }
    });
    EXPECT_LT(least, 5ms);
}

class RetakeAlways : private retakes_at_will, public ShortSlice {};

WEFT_SWEEP_OVER(RetakeAlways, 1U, 2U, 4U);

TEST_P(RetakeAlways, RetakesAPWithoutRunnableGs) {
    rt().run([] {
        for (int i = 0; i < 20; ++i) {
            lose_p();
            weft::yield();
        }
    });
    EXPECT_GE(rt().stats().retakes_burning + rt().stats().retakes_blocked, 20U);
}

}  // namespace
}  // namespace weft::test
