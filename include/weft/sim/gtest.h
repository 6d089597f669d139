// gtest.h: tests of GoogleTest that run in a simulation.
//
//     WEFT_SIM_TEST(Cache, NeverServesStaleValues) {
//         weft::go([] { … });
//         weft::sleep_for(24h);          // no time passes
//         EXPECT_EQ(…);
//     }
//
// The body runs with many schedules. Failed checks of all but the last are not reported; the
// report of the failing one has the schedule, and WEFT_SIM=SCHEDULE in the environment repeats it.
//
// See: docs/sim.md
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <weft/sim/sim.h>

namespace weft::sim {

/// As explore(). A failed EXPECT or ASSERT in body, on any of its green threads, is a failure of
/// its schedule. If one fails, the calling test does, with report::text() and the failed checks.
template <typename F>
void expect_passes(options with, F body) {
    ::testing::TestPartResultArray failed;
    report r;
    {
        const ::testing::ScopedFakeTestPartResultReporter instead(
            ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &failed);
        const std::function<bool()> own = std::move(with.has_failed);
        with.has_failed = [&failed, own, seen = 0]() mutable {
            bool any = own && own();
            for (; seen < failed.size(); ++seen) any |= failed.GetTestPartResult(seen).failed();
            return any;
        };
        r = explore(with, std::move(body));
    }
    if (r) return;
    std::string checks;
    if (r.result == verdict::failed && failed.size() != 0) {
        const ::testing::TestPartResult& last = failed.GetTestPartResult(failed.size() - 1);
        checks = std::string(last.file_name() == nullptr ? "?" : last.file_name()) + ":" +
                 std::to_string(last.line_number()) + ": " + last.message() + "\n";
    }
    ADD_FAILURE() << checks << r.text();
}

}  // namespace weft::sim

/// A test of GoogleTest, whose body runs with many schedules. WEFT_SIM_TEST_WITH also takes
/// weft::sim::options, in parentheses if they contain a comma.
#define WEFT_SIM_TEST(suite, name) WEFT_SIM_TEST_WITH(suite, name, ::weft::sim::options{})
#define WEFT_SIM_TEST_WITH(suite, name, ...)                                                   \
    static void weft_sim_##suite##_##name();                                                   \
    TEST(suite, name) { ::weft::sim::expect_passes(__VA_ARGS__, &weft_sim_##suite##_##name); } \
    static void weft_sim_##suite##_##name()
