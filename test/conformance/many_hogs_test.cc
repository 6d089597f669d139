// many_hogs_test.cc: many Gs that compute without giving way, and what they leave to the others.
//
// Forty hogs; a thousand with WEFT_STRESS_SECONDS. Each of these is a thread that is always
// runnable, which takes a machine a minute.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/cpu_time.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// A short slice, because it takes as many slices as hogs until all have begun.
class ManyHogs : private slices_of_100us, public procs_test {
protected:
    ManyHogs() : procs_test(120s) {}
};

WEFT_SWEEP_OVER(ManyHogs, 1U, 2U, 4U);

// Some 50 microseconds of work, on any machine and build. Returns how long it took.
std::chrono::nanoseconds timed_work() {
    const auto before = cpu_time(CLOCK_THREAD_CPUTIME_ID);
    for (;;) {
        for (int i = 0; i < 1000; ++i) asm volatile("");
        const auto worked = cpu_time(CLOCK_THREAD_CPUTIME_ID) - before;
        if (worked >= 50us) return worked;
    }
}

// Each hog starts with a processor and continues without one. Then P of P + H runnable threads have
// processors.
//
// Gs that yield get that share of the process's CPU time, within a factor: with 100 hogs at P = 1,
// a fifth to a half of it.
TEST_P(ManyHogs, LeaveTheOthersTheirShare) {
    const int hogs = number_from_environment("WEFT_STRESS_SECONDS", 0) != 0 ? 1000 : scaled(40);
    constexpr int64_t factor = 25;
    const auto pieces_wanted = static_cast<int64_t>(100 * procs());
    std::atomic<int> began = 0;
    std::atomic<bool> over = false;
    for (int i = 0; i < hogs; ++i) {
        rt().go([&] {
            ++began;
            while (!over.load(std::memory_order_relaxed)) {}
        });
    }
    std::atomic<int64_t> pieces = 0;
    std::atomic<int64_t> worked_ns = 0;
    for (unsigned i = 0; i < 2 * procs(); ++i) {
        rt().go([&] {
            while (!over.load(std::memory_order_relaxed)) {
                worked_ns += timed_work().count();
                ++pieces;
                weft::yield();
            }
        });
    }
    // Each hog is a runnable thread: on a busy machine the start is slow, but it proceeds.
    for (int seen = 0; seen < hogs; seen = began) eventually([&] { return began > seen; });
    const int64_t first_piece = pieces;
    const int64_t first_worked_ns = worked_ns;
    const auto first = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
    for (int64_t seen = pieces; seen < first_piece + pieces_wanted; seen = pieces)
        eventually([&] { return pieces > seen; });
    const int64_t worked = worked_ns - first_worked_ns;
    const int64_t used = (cpu_time(CLOCK_PROCESS_CPUTIME_ID) - first).count();
    over = true;
    rt().drain();
    EXPECT_GE(worked * factor * (int64_t{procs()} + hogs), used * int64_t{procs()})
        << worked << " of " << used << " ns";
    RecordProperty("worked_ns", std::to_string(worked));
    RecordProperty("used_ns", std::to_string(used));
}

}  // namespace
}  // namespace weft::test
