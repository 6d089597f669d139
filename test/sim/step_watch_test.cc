// step_watch_test.cc: a green thread that does not come to its next step is named, once.
#include "sim/step_watch.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "support/captured.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

TEST(StepWatch, NamesAGreenThreadThatStaysInAStep) {
    const stderr_capture said;
    sim::step_watch watch(5ms);
    watch.stepped(7);
    eventually([&] { return occurrences(said.text(), "green thread 7 has not come to its next step for 5 ms") == 1; });
    watch.stepped(8);
    eventually([&] { return occurrences(said.text(), "green thread 8") == 1; });
    EXPECT_EQ(occurrences(said.text(), "green thread 7"), 1U);
}

TEST(StepWatch, IsQuietBetweenSchedules) {
    const stderr_capture said;
    {
        sim::step_watch watch(2ms);
        watch.stepped(0);
        const auto end = std::chrono::steady_clock::now() + 20ms;  // ten looks
        eventually([&] { return std::chrono::steady_clock::now() > end; });
    }
    EXPECT_EQ(said.text(), "");
}

}  // namespace
}  // namespace weft::test
