// many_hogs_test.cc: many that compute and never give way, and what is left for the others. A hundred; with WEFT_STRESS_SECONDS set, a thousand,
// each of which is a thread that wants to run all the time: that takes a machine a minute.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Short, or it takes a thousand slices until all have begun.
class ManyHogs : private slices_of_100us, public procs_test {
protected:
    ManyHogs() : procs_test(120s) {}
};

WEFT_SWEEP_OVER(ManyHogs, 1U, 2U, 4U);

int64_t cpu_ns(clockid_t whose) {
    timespec t{};
    ::clock_gettime(whose, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Work of some 50 microseconds, however fast this machine and build are. Returns how long it was.
int64_t timed_work() {
    const int64_t before_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    for (;;) {
        for (int i = 0; i < 1000; ++i) asm volatile("");
        const int64_t worked_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
        if (worked_ns >= 50'000) return worked_ns;
    }
}

// Each hog begins on a processor and goes on without one. Then P of the P + H threads that want to run have processors: whoever plays
// by the rules has that share of the CPU time that the process gets, but for a factor.
TEST_P(ManyHogs, LeaveTheOthersTheirShare) {
    const int hogs = number_from_environment("WEFT_STRESS_SECONDS", 0) != 0 ? 1000 : scaled(100);
    constexpr int64_t factor = 8;
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
                worked_ns += timed_work();
                ++pieces;
                weft::yield();
            }
        });
    }
    // Each is a thread that wants to run: on a busy machine it takes its time, but it goes on.
    for (int seen = 0; seen < hogs; seen = began) eventually([&] { return began > seen; });
    const int64_t first_piece = pieces;
    const int64_t first_worked_ns = worked_ns;
    const int64_t first_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int64_t seen = pieces; seen < first_piece + pieces_wanted; seen = pieces)
        eventually([&] { return pieces > seen; });
    const int64_t worked = worked_ns - first_worked_ns;
    const int64_t used = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - first_ns;
    over = true;
    rt().drain();
    EXPECT_GE(worked * factor * (int64_t{procs()} + hogs), used * int64_t{procs()})
        << worked << " of " << used << " ns";
    RecordProperty("worked_ns", std::to_string(worked));
    RecordProperty("used_ns", std::to_string(used));
}

}  // namespace
}  // namespace weft::test
