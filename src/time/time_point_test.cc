// time_point_test.cc: durations and time points become nanoseconds without overflow.
#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

#include <gtest/gtest.h>

#include <weft/detail/time_point.h>

namespace weft::detail {
namespace {

using namespace std::chrono_literals;
using std::chrono::duration;
using std::chrono::steady_clock;
using std::chrono::system_clock;

struct stopped_clock {
    using rep = int64_t;
    using period = std::milli;
    using duration = std::chrono::milliseconds;
    using time_point = std::chrono::time_point<stopped_clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept { return time_point(5'000'000'000ms); }
};

#if !defined(_LIBCPP_VERSION)  // has no such trait
static_assert(std::chrono::is_clock_v<stopped_clock>);
#endif

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(SaturatedNs, WholeUnitsAreExact) {
    EXPECT_EQ(saturated_ns(0ns), 0);
    EXPECT_EQ(saturated_ns(1ns), 1);
    EXPECT_EQ(saturated_ns(3us), 3'000);
    EXPECT_EQ(saturated_ns(7ms), 7'000'000);
    EXPECT_EQ(saturated_ns(2s), 2'000'000'000);
    EXPECT_EQ(saturated_ns(1h), 3'600'000'000'000);
    EXPECT_EQ(saturated_ns(std::chrono::nanoseconds::max()), never);
}

TEST(SaturatedNs, PartsOfANanosecondAreRoundedUp) {
    EXPECT_EQ(saturated_ns(duration<int64_t, std::pico>(1)), 1);
    EXPECT_EQ(saturated_ns(duration<int64_t, std::pico>(1'000)), 1);
    EXPECT_EQ(saturated_ns(duration<int64_t, std::pico>(1'001)), 2);
    EXPECT_EQ(saturated_ns(duration<double>(1e-10)), 1);
    EXPECT_EQ(saturated_ns(duration<double, std::nano>(2.5)), 3);
}

TEST(SaturatedNs, NonPositiveDurationsAreZero) {
    EXPECT_EQ(saturated_ns(-1ns), 0);
    EXPECT_EQ(saturated_ns(std::chrono::nanoseconds::min()), 0);
    EXPECT_EQ(saturated_ns(std::chrono::hours::min()), 0);
    EXPECT_EQ(saturated_ns(duration<double>(-0.5)), 0);
    EXPECT_EQ(saturated_ns(duration<double>(-infinity)), 0);
    EXPECT_EQ(saturated_ns(duration<double>(std::numeric_limits<double>::quiet_NaN())), 0);
}

TEST(SaturatedNs, DurationsBeyondTheClockAreNever) {
    EXPECT_EQ(saturated_ns(std::chrono::hours::max()), never);
    EXPECT_EQ(saturated_ns(std::chrono::milliseconds::max()), never);
    EXPECT_EQ(saturated_ns(duration<double>(1e30)), never);
    EXPECT_EQ(saturated_ns(duration<double>(infinity)), never);
}

TEST(DeadlineAfter, ANonPositiveTimeoutIsAPassedDeadline) {
    for (const auto timeout : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
        const int64_t deadline_ns = deadline_after(timeout);
        EXPECT_EQ(deadline_ns, long_ago);
        EXPECT_NE(deadline_ns, 0) << "0 means: do not wait at all";
    }
}

TEST(DeadlineAfter, IsTheTimeoutAfterNow) {
    const int64_t before = now_ns();
    const int64_t deadline_ns = deadline_after(10s);
    const int64_t after = now_ns();
    EXPECT_GE(deadline_ns, before + 10'000'000'000);
    EXPECT_LE(deadline_ns, after + 10'000'000'000);
}

TEST(DeadlineAfter, DoesNotWrapAround) {
    EXPECT_EQ(deadline_after(std::chrono::nanoseconds::max()), never);
    EXPECT_EQ(deadline_after(std::chrono::nanoseconds::max() - 1ns), never);
    EXPECT_EQ(deadline_after(std::chrono::hours::max()), never);
    EXPECT_LT(deadline_after(std::chrono::hours(24 * 365 * 100)), never);
}

TEST(DeadlineAt, TheSteadyClockNeedsNoConversion) {
    const auto now = steady_clock::now();
    EXPECT_EQ(deadline_at(now), now.time_since_epoch().count());
    EXPECT_EQ(deadline_at(steady_clock::time_point::max()), never);
    EXPECT_EQ(deadline_at(steady_clock::time_point::min()), long_ago);
    EXPECT_EQ(deadline_at(steady_clock::time_point{}), long_ago);
}

TEST(DeadlineAt, AnotherClockIsConvertedByItsDistanceFromNow) {
    const int64_t before = now_ns();
    const int64_t deadline_ns = deadline_at(stopped_clock::now() + 3s);
    const int64_t after = now_ns();
    EXPECT_GE(deadline_ns, before + 3'000'000'000);
    EXPECT_LE(deadline_ns, after + 3'000'000'000);
    EXPECT_EQ(deadline_at(stopped_clock::now() - 1s), long_ago);
}

TEST(DeadlineAt, TheEndsOfAnotherClockSaturate) {
    EXPECT_GT(deadline_at(system_clock::time_point::max()), deadline_after(std::chrono::hours(24 * 365 * 200)));
    EXPECT_EQ(deadline_at(system_clock::time_point::min()), long_ago);
    EXPECT_EQ(deadline_at(stopped_clock::time_point::max()), never);
    EXPECT_EQ(deadline_at(stopped_clock::time_point::min()), long_ago);
}

}  // namespace
}  // namespace weft::detail
