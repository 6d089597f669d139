// simulated.cc: runs the programs of the corpus by weft::sim.
#include <chrono>
#include <cstdio>
#include <string>

#include <weft/sim/sim.h>

#include "corpus/program.h"
#include "support/leaks.h"

namespace weft::test {

namespace {

using namespace std::chrono_literals;

constexpr auto time_to_find = 5s;
constexpr std::size_t few_choices = 4;

// Prints a line of the table in docs/sim.md.
void print_line(const sim::report& r, std::chrono::nanoseconds took) {
    const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::printf("%-18s %-9s %6llu schedules %8.1f ms %3zu choices  %s\n", test->test_suite_name(),
                r.result == sim::verdict::leaked ? "leaked" : "deadlock", static_cast<unsigned long long>(r.schedules),
                std::chrono::duration<double, std::milli>(took).count(), r.choices, r.schedule.c_str());
}

}  // namespace

void expect_found(maker make) {
    leak_on_purpose();
    // Its green threads never end, so it must never be destroyed.
    const auto body = [make] { kept_for_ever(make({.buggy = true, .forced = false}).release())->run(); };
    const auto began = std::chrono::steady_clock::now();
    const sim::report r = sim::explore({.schedules = UINT64_MAX, .budget = time_to_find}, body);
    print_line(r, std::chrono::steady_clock::now() - began);
    ASSERT_TRUE(r.result == sim::verdict::deadlock || r.result == sim::verdict::leaked) << r.text();
    const sim::report again = sim::replay(r.schedule, {}, body);
    EXPECT_EQ(again.result, r.result);
    EXPECT_EQ(again.steps_text, r.steps_text);
    if (r.choices > few_choices) std::printf("%s", r.text().c_str());
    const sim::report all = sim::explore({.schedules = 20'000, .pick = sim::strategy::dpor}, body);
    std::printf("%-18s dpor      %6llu schedules%s\n", "", static_cast<unsigned long long>(all.schedules),
                all ? ", not found" : "");
    EXPECT_FALSE(all && all.exhausted) << "all orders were tried, and none failed";
}

// By the usual strategy, and by all orders, as far as they are few.
void expect_never_found(maker make) {
    std::unique_ptr<program> p;
    sim::options with{.has_failed = [&p] {
        p->check();
        return ::testing::Test::HasFailure();
    }};
    const auto body = [&p, make] {
        p = make({.buggy = false, .forced = false});
        p->run();
    };
    const sim::report r = sim::explore(with, body);
    EXPECT_EQ(r.result, sim::verdict::passed) << r.text();
    with.pick = sim::strategy::dpor;
    const sim::report all = sim::explore(with, body);
    EXPECT_EQ(all.result, sim::verdict::passed) << all.text();
    std::printf("%-18s corrected: %llu schedules%s\n",
                ::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name(),
                static_cast<unsigned long long>(all.schedules), all.exhausted ? ", all orders" : "");
}

}  // namespace weft::test
