// schedule_text_test.cc: a schedule as a text.
#include "sim/schedule_text.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

TEST(ScheduleText, IsReadAsItWasWritten) {
    for (const schedule& s :
         {schedule{}, schedule{{0, 1}}, schedule{{3, 1}, {4, 2}, {100'000, 7}}, schedule{{0, 3}, {1, 1}}})
        EXPECT_EQ(parse_schedule(to_text(s)), s) << to_text(s);
}

TEST(ScheduleText, IsShort) {
    EXPECT_EQ(to_text({}), "w1.");
    EXPECT_EQ(to_text({{12, 2}, {43, 1}}), "w1.12:2,30");
}

TEST(ScheduleText, RefusesWhatIsNone) {
    for (const char* text :
         {"", "w2.1", "w1", "w1.x", "w1.1:", "w1.1:0", "w1.1,", "w1.1 2", "w1.1,,2", "w1.1:99999999999"})
        EXPECT_THROW((void)parse_schedule(text), std::invalid_argument) << text;
}

}  // namespace
}  // namespace weft::sim
