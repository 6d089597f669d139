// runtime_churn_test.cc: thousands of runtimes that come and go, several at once, and leave nothing
// behind.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/deep.h"
#include "support/eventually.h"
#include "support/leaks.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/watchdog.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class RuntimeChurn : public ::testing::TestWithParam<unsigned> {};

INSTANTIATE_TEST_SUITE_P(Procs,
                         RuntimeChurn,
                         ::testing::Values(1U, 2U, 4U),
                         [](const ::testing::TestParamInfo<unsigned>& p) { return "P" + std::to_string(p.param); });

constexpr unsigned threads = 4;
constexpr int messages = 20;

// Gs of runtime a send, Gs of b receive, and some of both do other work. Returns the number of
// received messages.
int talk(runtime& a, runtime& b) {
    const chan<int> c(2);
    a.go([=] {
        for (int i = 0; i < messages; ++i) c.send(1);
        c.close();
    });
    a.go([] { sleep_for(20us); });
    b.go([] { compute_for(20us); });
    return b.run([=] {
        int sum = 0;
        for (const int v : c) sum += v;
        return sum;
    });
}

// One round: two runtimes start, communicate, and end, in a different way each round.
bool start_and_stop(unsigned procs, int round) {
    std::optional<runtime> a(std::in_place, runtime_options{.procs = procs});
    runtime b({.procs = procs});
    bool good = talk(*a, b) == messages;
    if (round % 4 == 0) b.abandon();
    if (round % 4 == 1) {
        a->abandon();
        a->start();  // ends by its destructor
    }
    if (round % 4 == 2) good = good && b.shutdown(10s).stragglers == 0;
    if (round % 4 == 3) a.reset();  // before b
    return good;
}

// Runs `rounds` on each of several threads, at once. Returns how many went wrong.
int churn(unsigned procs, int rounds) {
    std::atomic<int> wrong = 0;
    std::vector<std::thread> all;
    all.reserve(threads);
    for (unsigned t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            for (int round = 0; round < rounds; ++round)
                wrong += start_and_stop(procs, round + static_cast<int>(t)) ? 0 : 1;
        });
    }
    for (std::thread& t : all) t.join();
    return wrong;
}

// A leak of one per round would be a thousand.
TEST_P(RuntimeChurn, ManyShortLivedRuntimesLeaveNothing) {
    leak_on_purpose();  // the frames of sleepers
    const watchdog dog("RuntimeChurn", patience() + 120s, [] {});
#if defined(_WIN32)
    constexpr int warm_up = 200;  // the regions of heaps grow for that long
#else
    constexpr int warm_up = 20;  // allocator arenas, cached stacks of threads
#endif
    constexpr std::size_t mapping_allowance = 100;
    EXPECT_EQ(churn(GetParam(), warm_up), 0);
    const resources before = resources::now();
    EXPECT_EQ(churn(GetParam(), scaled(1000 / threads)), 0);
    eventually(
        [&] { return resources::now().threads <= before.threads; });  // joined threads leave /proc a moment later
    const resources after = resources::now();
    EXPECT_LE(after.fds, before.fds) << "file descriptors left open";
    if (!built_with_sanitizer) {  // its own mappings come and go
        EXPECT_LE(after.mappings, before.mappings + mapping_allowance) << "mappings left behind";
    }
}

// The fault handler scans the stacks of all runtimes, while some of them are being destroyed.
TEST_P(RuntimeChurn, MayRaceWithStackGrowthInOtherRuntimes) {
    const watchdog dog("RuntimeChurn", patience() + 120s, [] {});
    std::atomic<bool> over = false;
    std::vector<std::thread> makers;
    for (int t = 0; t < 3; ++t) {
        makers.emplace_back([&] {
            while (!over) const runtime one({.procs = 1, .stack_size = 16 * 1024});
        });
    }
    for (int round = 0; round < scaled(40); ++round) {
        runtime grows({.procs = GetParam(), .stacks = stack_policy::growing});
        for (int i = 0; i < 100; ++i) grows.go([] { deep(180 * 1024, [] { sleep_for(1ms); }); });
        grows.drain();
    }
    over = true;
    for (std::thread& t : makers) t.join();
}

}  // namespace
}  // namespace weft::test
