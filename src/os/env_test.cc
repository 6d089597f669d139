// env_test.cc: numbers from the environment: units, bounds, and one line for junk.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "os/os.h"
#include "support/captured.h"

namespace weft::detail::os {
namespace {

constexpr const char* variable = "WEFT_ENV_TEST";
constexpr uint64_t fallback = 77;

class EnvNumber : public ::testing::Test {
protected:
    ~EnvNumber() override { ::unsetenv(variable); }

    // What the variable set to text is read as, and what is said about it.
    void read(const char* text, uint64_t low = 1, uint64_t high = UINT64_MAX) {
        ::setenv(variable, text, 1);
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

TEST_F(EnvNumber, AnUnsetVariableIsTheDefaultWithoutAWord) {
    ::unsetenv(variable);
    EXPECT_EQ(test::stderr_of([&] { number_ = env_number(variable, 1, 9, fallback); }), "");
    EXPECT_EQ(number_, fallback);
}

TEST_F(EnvNumber, AnEmptyVariableIsAsGoodAsUnset) { expect_silent("", fallback); }

TEST_F(EnvNumber, ADecimalNumberIsTaken) {
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

TEST_F(EnvNumber, JunkIsTheDefaultAndOneLine) {
    for (const char* junk : {"many", "-1", "+1", " 1", "1 ", "1.5", "0x10", "12k3", "1T", "1kb", "k", "1iB", "1B",
                             "1kk", "18446744073709551616", "18446744073709551615k", "99999999999999999999999"}) {
        read(junk, 1, 1024);
        EXPECT_EQ(number_, fallback) << junk;
        EXPECT_EQ(said_,
                  "weft: WEFT_ENV_TEST=\"" + std::string(junk) + "\" is not a number from 1 to 1024; using 77\n");
    }
}

TEST_F(EnvNumber, ANumberBelowTheRangeIsTheDefaultAndOneLine) {
    read("15", 16, 1024);
    EXPECT_EQ(number_, fallback);
    EXPECT_EQ(said_, "weft: WEFT_ENV_TEST=\"15\" is not a number from 16 to 1024; using 77\n");
    read("0");
    EXPECT_EQ(number_, fallback);
}

TEST_F(EnvNumber, ANumberAboveTheRangeIsTheMostThereMayBeAndOneLine) {
    read("1025", 1, 1024);
    EXPECT_EQ(number_, 1024U);
    EXPECT_EQ(said_, "weft: WEFT_ENV_TEST=1025 is more than 1024; using 1024\n");
    read("4G", 1, 1024);
    EXPECT_EQ(number_, 1024U);
    EXPECT_EQ(said_, "weft: WEFT_ENV_TEST=4G is more than 1024; using 1024\n");
}

TEST_F(EnvNumber, TheEndsOfTheRangeAreInIt) {
    read("16", 16, 1024);
    EXPECT_EQ(number_, 16U);
    EXPECT_EQ(said_, "");
    read("1024", 16, 1024);
    EXPECT_EQ(number_, 1024U);
    EXPECT_EQ(said_, "");
}

// A variable of any length: one line, cut, with its end.
TEST_F(EnvNumber, AVeryLongVariableIsStillOneLine) {
    const std::string junk(5000, 'x');
    read(junk.c_str());
    EXPECT_EQ(number_, fallback);
    EXPECT_EQ(test::lines_of(said_).size(), 1U);
    EXPECT_EQ(said_.back(), '\n');
}

}  // namespace
}  // namespace weft::detail::os
