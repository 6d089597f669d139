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

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <weft/sim/sim.h>

namespace weft::sim {

namespace detail {

inline std::string text_of(const ::testing::TestPartResult& r) {
    return std::string(r.file_name() == nullptr ? "?" : r.file_name()) + ":" + std::to_string(r.line_number()) + ": " +
           r.message() + "\n";
}

inline std::string first_failure(const ::testing::TestResult& result) {
    for (int part = 0; part < result.total_part_count(); ++part)
        if (result.GetTestPartResult(part).failed()) return text_of(result.GetTestPartResult(part));
    return {};
}

// Of a test, or of what the program does around all of them.
inline std::string first_failure(const ::testing::UnitTest& unit) {
    for (int i = 0; i < unit.total_test_suite_count(); ++i) {
        const ::testing::TestSuite& suite = *unit.GetTestSuite(i);
        for (int k = 0; k < suite.total_test_count(); ++k) {
            const ::testing::TestResult& result = *suite.GetTestInfo(k)->result();
            if (result.Failed()) return first_failure(result);
        }
    }
    return first_failure(unit.ad_hoc_test_result());
}

}  // namespace detail

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
        checks = detail::text_of(failed.GetTestPartResult(failed.size() - 1));
    }
    ADD_FAILURE() << checks << r.text();
}

/// For main() of tests that know nothing of simulations: runs each test of the program with many
/// schedules, as if its fixture and its body were one WEFT_SIM_TEST, and prints those that fail in
/// one of them, with their schedules. Arguments: those of GoogleTest; then also
/// --sim_schedules=N (1000). Without WEFT_SIM_ALL=1 in the environment it runs them as usual.
/// Returns the exit status.
///
///     int main(int argc, char** argv) { return weft::sim::run_all_tests(argc, argv); }
///
/// Tests may start runtimes, but not plain threads, and nothing may be left from one run of a test
/// to the next. Death tests are left out.
inline int run_all_tests(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    const char* all = std::getenv("WEFT_SIM_ALL");
    if (all == nullptr || *all == '\0' || *all == '0') return RUN_ALL_TESTS();
    options with;
    for (int i = 1; i < argc; ++i) {
        constexpr std::string_view flag = "--sim_schedules=";
        if (std::string_view(argv[i]).starts_with(flag))
            with.schedules = std::strtoull(argv[i] + flag.size(), nullptr, 10);
    }
    const ::testing::UnitTest& unit = *::testing::UnitTest::GetInstance();
    ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
    const std::unique_ptr<::testing::TestEventListener> printer(listeners.Release(listeners.default_result_printer()));
    // GoogleTest applies its filter, and its shards, when it runs or lists tests.
    GTEST_FLAG_SET(list_tests, true);
    [[maybe_unused]] const int listed = RUN_ALL_TESTS();
    GTEST_FLAG_SET(list_tests, false);
    for (const char* name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) ::unsetenv(name);
    std::vector<std::string> names;
    for (int i = 0; i < unit.total_test_suite_count(); ++i) {
        const ::testing::TestSuite& suite = *unit.GetTestSuite(i);
        const bool is_left_out = std::string_view(suite.name()).find("DeathTest") != std::string_view::npos;
        for (int k = 0; k < suite.total_test_count() && !is_left_out; ++k) {
            const ::testing::TestInfo& test = *suite.GetTestInfo(k);
            if (test.should_run()) names.push_back(std::string(suite.name()) + "." + test.name());
        }
    }
    unsigned failing = 0;
    for (const std::string& name : names) {
        GTEST_FLAG_SET(filter, name);
        std::string check;
        with.has_failed = [&] {
            if (!unit.Failed()) return false;
            check = detail::first_failure(unit);
            return true;
        };
        const report r = explore(with, [] { [[maybe_unused]] const int status = RUN_ALL_TESTS(); });
        if (r) {
            std::printf("[  PASSED  ] %s: %llu schedules\n", name.c_str(),
                        static_cast<unsigned long long>(r.schedules));
            continue;
        }
        ++failing;
        std::printf("[  FAILED  ] %s: %s%s\n", name.c_str(), r.result == verdict::failed ? check.c_str() : "",
                    r.text().c_str());
    }
    std::printf("%u of %zu tests fail in some schedule\n", failing, names.size());
    return failing == 0 ? 0 : 1;
}

}  // namespace weft::sim

/// A test of GoogleTest, whose body runs with many schedules. WEFT_SIM_TEST_WITH also takes
/// weft::sim::options, in parentheses if they contain a comma.
#define WEFT_SIM_TEST(suite, name) WEFT_SIM_TEST_WITH(suite, name, ::weft::sim::options{})
#define WEFT_SIM_TEST_WITH(suite, name, ...)                                                   \
    static void weft_sim_##suite##_##name();                                                   \
    TEST(suite, name) { ::weft::sim::expect_passes(__VA_ARGS__, &weft_sim_##suite##_##name); } \
    static void weft_sim_##suite##_##name()
