// env_test.cc: numbers and times from the environment: units, bounds, and one line for junk.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "os/os.h"
#include "support/captured.h"
#include "support/environment.h"
#include "support/units.h"

namespace weft::detail::os {
namespace {

using test::ms;
using test::us;

constexpr const char* variable = "WEFT_ENV_TEST";
constexpr uint64_t fallback = 77;

class EnvNumber : public ::testing::Test {
protected:
    ~EnvNumber() override { test::change_environment(variable, nullptr); }

    void read(const char* text, uint64_t low = 1, uint64_t high = UINT64_MAX) {
        test::change_environment(variable, text);
        said_ = test::stderr_of([&] { number_ = env_number(variable, low, high, fallback); });
    }

    void expect_silent(const char* text, uint64_t number) {
        read(text);
        EXPECT_EQ(number_, number) << text;
        EXPECT_EQ(said_, "") << text;
    }

    uint64_t number_ = 0;
    std::string said_;
};

TEST_F(EnvNumber, AnUnsetVariableGivesTheDefaultSilently) {
    test::change_environment(variable, nullptr);
    EXPECT_EQ(test::stderr_of([&] { number_ = env_number(variable, 1, 9, fallback); }), "");
    EXPECT_EQ(number_, fallback);
}

TEST_F(EnvNumber, AnEmptyVariableCountsAsUnset) { expect_silent("", fallback); }

TEST(ReadEnv, TheNameWithWeftWinsOverTheOneWithRun) {
    const test::environment_variable run("RUN_ENV_TEST", "1");
    EXPECT_EQ(env_number("RUN_ENV_TEST", 0, 9, fallback), 1U);
    {
        const test::environment_variable weft("WEFT_ENV_TEST", "2");
        EXPECT_EQ(env_number("RUN_ENV_TEST", 0, 9, fallback), 2U);
        EXPECT_STREQ(read_env("RUN_ENV_TEST").name, "WEFT_ENV_TEST");
    }
    const test::environment_variable empty("WEFT_ENV_TEST", "");
    EXPECT_EQ(env_number("RUN_ENV_TEST", 0, 9, fallback), 1U);
    EXPECT_STREQ(read_env("RUN_ENV_TEST").name, "RUN_ENV_TEST");
}

TEST(ReadEnv, MessagesShowTheNameThatWasRead) {
    const test::environment_variable weft("WEFT_ENV_TEST", "many");
    const std::string said = test::stderr_of([] { (void)env_number("RUN_ENV_TEST", 0, 9, fallback); });
    EXPECT_NE(said.find("WEFT_ENV_TEST=\"many\""), std::string::npos) << said;
}

TEST_F(EnvNumber, ADecimalNumberIsAccepted) {
    expect_silent("1", 1);
    expect_silent("42", 42);
    expect_silent("007", 7);
    expect_silent("18446744073709551615", UINT64_MAX);
}

TEST_F(EnvNumber, UnitsArePowersOf1024) {
    expect_silent("3k", 3 << 10);
    expect_silent("3K", 3 << 10);
    expect_silent("3kB", 3 << 10);
    expect_silent("3KiB", 3 << 10);
    expect_silent("5M", 5 << 20);
    expect_silent("5MiB", 5 << 20);
    expect_silent("2G", uint64_t{2} << 30);
    expect_silent("2GB", uint64_t{2} << 30);
}

TEST_F(EnvNumber, JunkGivesTheDefaultAndOneLine) {
    for (const char* junk : {"many", "-1", "+1", " 1", "1 ", "1.5", "0x10", "12k3", "1T", "1kb", "k", "1iB", "1B",
                             "1kk", "18446744073709551616", "18446744073709551615k", "99999999999999999999999"}) {
        read(junk, 1, 1024);
        EXPECT_EQ(number_, fallback) << junk;
        EXPECT_EQ(said_,
                  "weft: WEFT_ENV_TEST=\"" + std::string(junk) + "\" is not a number from 1 to 1024; using 77\n");
    }
}

TEST_F(EnvNumber, ANumberBelowTheRangeGivesTheDefaultAndOneLine) {
    read("15", 16, 1024);
    EXPECT_EQ(number_, fallback);
    EXPECT_EQ(said_, "weft: WEFT_ENV_TEST=\"15\" is not a number from 16 to 1024; using 77\n");
    read("0");
    EXPECT_EQ(number_, fallback);
}

TEST_F(EnvNumber, ANumberAboveTheRangeGivesTheMaximumAndOneLine) {
    read("1025", 1, 1024);
    EXPECT_EQ(number_, 1024U);
    EXPECT_EQ(said_, "weft: WEFT_ENV_TEST=1025 is more than 1024; using 1024\n");
    read("4G", 1, 1024);
    EXPECT_EQ(number_, 1024U);
    EXPECT_EQ(said_, "weft: WEFT_ENV_TEST=4G is more than 1024; using 1024\n");
}

TEST_F(EnvNumber, TheEndsOfTheRangeAreValid) {
    read("16", 16, 1024);
    EXPECT_EQ(number_, 16U);
    EXPECT_EQ(said_, "");
    read("1024", 16, 1024);
    EXPECT_EQ(number_, 1024U);
    EXPECT_EQ(said_, "");
}

// The line is cut, and keeps its end.
TEST_F(EnvNumber, AVeryLongVariableGivesOneLine) {
    const std::string junk(5000, 'x');
    read(junk.c_str());
    EXPECT_EQ(number_, fallback);
    EXPECT_EQ(test::lines_of(said_).size(), 1U);
    EXPECT_EQ(said_.back(), '\n');
}

class EnvTime : public ::testing::Test {
protected:
    ~EnvTime() override { test::change_environment(variable, nullptr); }

    // From 10 us to 10 s; the default is 10 ms.
    void read(const char* text) {
        test::change_environment(variable, text);
        said_ = test::stderr_of([&] { ns_ = env_time_ns(variable, 10 * us, 10'000 * ms, 10 * ms); });
    }

    void expect_silent(const char* text, int64_t ns) {
        read(text);
        EXPECT_EQ(ns_, ns) << text;
        EXPECT_EQ(said_, "") << text;
    }

    int64_t ns_ = 0;
    std::string said_;
};

TEST_F(EnvTime, WithoutAUnitMeansMilliseconds) {
    expect_silent("", 10 * ms);
    expect_silent("3", 3 * ms);
    expect_silent("10000", 10'000 * ms);
}

TEST_F(EnvTime, MayHaveAFraction) {
    expect_silent("0.1", 100 * us);
    expect_silent("0.25", 250 * us);
    expect_silent("1.5", 1'500 * us);
    expect_silent("2.0", 2 * ms);
    expect_silent("0.123456", 123'456);
    expect_silent("00.10", 100 * us);
}

TEST_F(EnvTime, MayHaveAUnit) {
    expect_silent("100us", 100 * us);
    expect_silent("100000ns", 100 * us);
    expect_silent("10ms", 10 * ms);
    expect_silent("0.1ms", 100 * us);
    expect_silent("2s", 2'000 * ms);
    expect_silent("0.0001s", 100 * us);
    expect_silent("10000.5ns", 10'000);
    expect_silent("0.0000199999999999999999999s", 19'999);
}

TEST_F(EnvTime, JunkGivesTheDefaultAndOneLine) {
    for (const char* junk : {"fast",
                             "-1",
                             "+1",
                             " 1",
                             "1 ",
                             ".1",
                             "1.",
                             "1.ms",
                             "1..5",
                             "1.5.5",
                             "1,5",
                             "0x10",
                             "1e3",
                             "1m",
                             "1min",
                             "1k",
                             "us",
                             "1 ms",
                             "1MS",
                             "9223372036854775808",
                             "99999999999999999999s",
                             "9223372036854775807s",
                             "inf",
                             "nan"}) {
        read(junk);
        EXPECT_EQ(ns_, 10 * ms) << junk;
        EXPECT_EQ(said_, "weft: WEFT_ENV_TEST=\"" + std::string(junk) +
                             "\" is not a time from 10us to 10s, in ms or with a unit (ns, us, ms, s); using 10ms\n");
    }
}

TEST_F(EnvTime, ATimeBelowTheRangeGivesTheDefaultAndOneLine) {
    for (const char* small : {"0", "0.0", "9us", "0.009999", "0.0000000000001"}) {
        read(small);
        EXPECT_EQ(ns_, 10 * ms) << small;
        EXPECT_EQ(test::lines_of(said_).size(), 1U) << small;
    }
}

TEST_F(EnvTime, ATimeAboveTheRangeGivesTheMaximumAndOneLine) {
    read("10000.000001");
    EXPECT_EQ(ns_, 10'000 * ms);
    EXPECT_EQ(said_, "weft: WEFT_ENV_TEST=10000.000001 is more than 10s; using 10s\n");
    read("11s");
    EXPECT_EQ(ns_, 10'000 * ms);
    EXPECT_EQ(said_, "weft: WEFT_ENV_TEST=11s is more than 10s; using 10s\n");
}

TEST_F(EnvTime, TheEndsOfTheRangeAreValid) {
    expect_silent("10us", 10 * us);
    expect_silent("0.01", 10 * us);
    expect_silent("10s", 10'000 * ms);
}

}  // namespace
}  // namespace weft::detail::os
