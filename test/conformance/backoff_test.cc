// backoff_test.cc: how pauses between attempts grow, and what ends them.

#include <chrono>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include <weft/backoff.h>
#include <weft/weft.h>

#include "support/procs_test.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t largest = (std::numeric_limits<uint64_t>::max)();

TEST(Backoff, PausesGrowByTheFactorUpToTheLongest) {
    backoff pauses({.first = 10ms, .longest = 50ms, .factor = 3, .jitter_percent = 0});
    EXPECT_EQ(pauses.next(), 10ms);
    EXPECT_EQ(pauses.next(), 30ms);
    EXPECT_EQ(pauses.next(), 50ms);
    EXPECT_EQ(pauses.next(), 50ms);
    EXPECT_EQ(pauses.count(), 4U);
    pauses.reset();
    EXPECT_EQ(pauses.count(), 0U);
    EXPECT_EQ(pauses.next(), 10ms);
}

TEST(Backoff, APartOfEachPauseIsRandom) {
    const backoff_options half{.first = 100ms, .longest = 100ms};
    const backoff_options all{.first = 100ms, .longest = 100ms, .jitter_percent = 100};
    EXPECT_EQ(detail::backoff_pause(half, 0, 0), 50ms);
    EXPECT_EQ(detail::backoff_pause(half, 0, 50'000'000), 100ms);
    EXPECT_EQ(detail::backoff_pause(all, 0, 0), 0ms);
    EXPECT_EQ(detail::backoff_pause(all, 0, 100'000'000), 100ms);
    std::set<std::chrono::nanoseconds> seen;
    backoff pauses(half);
    for (int i = 0; i < 100; ++i) {
        const auto pause = pauses.next();
        EXPECT_GE(pause, 50ms);
        EXPECT_LE(pause, 100ms);
        seen.insert(pause);
    }
    EXPECT_GT(seen.size(), 90U);
}

TEST(Backoff, HugePausesDoNotOverflow) {
    constexpr auto most = (std::chrono::nanoseconds::max)();
    for (const uint32_t jitter : {0U, 1U, 50U, 99U, 100U}) {
        const backoff_options how{.first = 1h, .longest = most, .factor = 1000, .jitter_percent = jitter};
        for (const uint64_t earlier : {uint64_t{0}, uint64_t{1}, uint64_t{5}, largest}) {
            for (const uint64_t random : {uint64_t{0}, largest}) {
                EXPECT_GE(detail::backoff_pause(how, earlier, random), 0ns);
                EXPECT_LE(detail::backoff_pause(how, earlier, random), most);
            }
        }
    }
    EXPECT_EQ(detail::backoff_pause({.first = 0ns}, largest, largest), 0ns);
    EXPECT_EQ(detail::backoff_pause({.first = 1ns, .factor = 1, .jitter_percent = 0}, largest, 0), 1ns);
    EXPECT_EQ(detail::backoff_pause({.first = 1h, .longest = 1s, .jitter_percent = 0}, 0, 0), 1s);
}

TEST(Backoff, ContradictoryOptionsAreErrors) {
    EXPECT_THROW(backoff({.first = -1ns}), std::invalid_argument);
    EXPECT_THROW(backoff({.longest = -1ns}), std::invalid_argument);
    EXPECT_THROW(backoff({.factor = 0}), std::invalid_argument);
    EXPECT_THROW(backoff({.jitter_percent = 101}), std::invalid_argument);
}

using BackoffWait = procs_test;
WEFT_SWEEP(BackoffWait);

TEST_P(BackoffWait, WaitsForAtLeastTheFixedPart) {
    rt().run([] {
        backoff pauses({.first = 4ms});
        const auto begin = std::chrono::steady_clock::now();
        pauses.wait();
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 2ms);
        EXPECT_EQ(pauses.count(), 1U);
    });
}

TEST_P(BackoffWait, ADeadlineEndsThePause) {
    rt().run([] {
        backoff pauses({.first = 1h, .longest = 1h});
        EXPECT_THROW(with_timeout(1ms, [&] { pauses.wait(); }), timed_out);
    });
}

}  // namespace
}  // namespace weft::test
