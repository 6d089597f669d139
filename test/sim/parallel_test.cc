// parallel_test.cc: the schedule decides where forks run.
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <weft/parallel.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "sim/check.h"

namespace weft {
namespace {

using test::check;

sim::options few() {
    sim::options o;
    o.schedules = 300;
    return o;
}

TEST(ForksInSimulations, AreOftenCalledInPlaceAndOftenNot) {
    int in_place = 0;
    int elsewhere = 0;
    const sim::report r = sim::explore(few(), [&] {
        const uint64_t me = this_g::id();
        forked call([&] { ++(this_g::id() == me ? in_place : elsewhere); });
        call.join();
    });
    EXPECT_TRUE(r) << r.text();
    EXPECT_GT(in_place, 20);
    EXPECT_GT(elsewhere, 20);
}

// Overlapping parts lose an addition.
TEST(ForksInSimulations, ShowWhatOverlappingPartsDoWrong) {
    const auto body = [](bool fixed) {
        int count = 0;
        mutex m;
        const auto add = [&] {
            std::unique_lock<mutex> held(m, std::defer_lock);
            if (fixed) held.lock();
            const int seen = count;
            checkpoint();
            count = seen + 1;
        };
        parallel_invoke(add, add);
        check(count == 2, "an addition was lost");
    };
    EXPECT_FALSE(sim::explore(few(), [&] { body(false); }));
    EXPECT_TRUE(sim::explore(few(), [&] { body(true); }));
}

// On one P a part that waits for another one waits for ever.
TEST(ForksInSimulations, ShowThatAForkIsNoPromise) {
    const sim::report r = sim::explore(few(), [] {
        const chan<int> numbers;
        forked sender([&] { numbers.send(1); });
        numbers.recv();
        sender.join();
    });
    EXPECT_EQ(r.result, sim::verdict::deadlock) << r.text();
}

TEST(ForksInSimulations, LoopsHaveTheSameResultInEverySchedule) {
    std::set<std::string> results;
    const sim::report r = sim::explore(few(), [&] {
        results.insert(parallel_reduce(0, 6, std::string(), [](int i) {
            checkpoint();
            return std::to_string(i);
        }));
    });
    EXPECT_TRUE(r) << r.text();
    EXPECT_EQ(results, std::set<std::string>{"012345"});
}

}  // namespace
}  // namespace weft
