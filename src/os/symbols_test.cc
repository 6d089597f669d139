// symbols_test.cc: addresses of code get the names that the dynamic linker knows.
#include "os/symbols.h"

#include <clocale>
#include <string_view>

#include <gtest/gtest.h>

namespace weft::detail::os {
namespace {

TEST(FindCode, KnowsAFunctionOfTheSystemsLibrary) {
    code_place place{};
    ASSERT_TRUE(find_code(reinterpret_cast<const void*>(&std::localeconv), place));
    if (place.in_program) GTEST_SKIP() << "a static program";
    if (!knows_names) GTEST_SKIP() << "exported names are not looked up on this system";
    ASSERT_NE(place.function, nullptr);
    EXPECT_EQ(std::string_view(place.function), "localeconv");
    EXPECT_EQ(std::string_view(place.module).find('/'), std::string_view::npos);
    EXPECT_GT(place.address, 0U);
}

void a_function() {}

TEST(FindCode, KnowsTheProgramAlsoWhereNoDynamicLinkerIs) {
    code_place place{};
    ASSERT_TRUE(find_code(reinterpret_cast<const void*>(&a_function), place));
    EXPECT_TRUE(place.in_program);
    EXPECT_GT(place.address, 0U);
    EXPECT_TRUE(runs_at_start());
}

TEST(FindCode, KnowsNothingWhereNoModuleIsLoaded) {
    code_place place{};
    EXPECT_FALSE(find_code(nullptr, place));
}

}  // namespace
}  // namespace weft::detail::os
