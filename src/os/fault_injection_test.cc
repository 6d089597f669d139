// fault_injection_test.cc: the table of calls that can be made to fail, and their counting.
#include "os/fault_injection.h"

#include <cerrno>
#include <cstddef>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace weft::detail::os {
namespace {

TEST(FaultInjection, EachKindHasANameOfItsOwnThatCanBeRead) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < failure_kinds; ++i) {
        const auto kind = static_cast<failure>(i);
        EXPECT_TRUE(names.insert(name_of(kind).name).second) << name_of(kind).name;
        EXPECT_NE(name_of(kind).usual_error, 0);
        failure_rule rule;
        EXPECT_EQ(parse_failure(std::string(name_of(kind).name) + ":7:EIO", rule), nullptr);
        EXPECT_EQ(rule.kind, kind);
        EXPECT_EQ(rule.n, 7);
        EXPECT_EQ(rule.error, EIO);
    }
}

TEST(FaultInjection, ErrorsHaveTheSystemsNumbers) {
    EXPECT_EQ(error_number("EMFILE"), EMFILE);
    EXPECT_EQ(error_number("ENOMEM"), ENOMEM);
    EXPECT_EQ(error_number("EXDEV"), EXDEV);
    for (const char* text : {"", "E", "EMFIL", "EMFILES", "emfile", "24"}) EXPECT_EQ(error_number(text), 0) << text;
}

TEST(FaultInjection, TheNthCallOfTheKindFailsOnce) {
    fail_nth_for_test(failure::sync, 3);
    EXPECT_EQ(injected_failure(failure::sync), 0);
    EXPECT_EQ(injected_failure(failure::sync), 0);
    EXPECT_EQ(injected_failure(failure::open), 0) << "another kind does not count";
    EXPECT_EQ(injected_failure(failure::sync), EIO);
    EXPECT_EQ(injected_failure(failure::sync), 0);
}

}  // namespace
}  // namespace weft::detail::os
