// place_test.cc: places from C, read through std::source_location.
#include "c/place.h"

#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

TEST(Place, ReturnsItsFileLineAndFunction) {
    const std::source_location at = place_of("file.c", 42, "serve");
    EXPECT_STREQ(at.file_name(), "file.c");
    EXPECT_STREQ(at.function_name(), "serve");
    EXPECT_EQ(at.line(), 42U);
    EXPECT_EQ(at.column(), 0U);
}

TEST(Place, AMissingFileOrFunctionIsAQuestionMark) {
    EXPECT_STREQ(place_of(nullptr, 1, "f").file_name(), "?");
    EXPECT_STREQ(place_of("file.c", 1, nullptr).function_name(), "?");
}

TEST(Place, EqualPlacesAreStoredOnce) {
    const char* file = "same.c";
    const std::source_location first = place_of(file, 7, "f");
    const std::source_location second = place_of(file, 7, "f");
    EXPECT_EQ(std::memcmp(&first, &second, sizeof(first)), 0);
    EXPECT_EQ(place_of(file, 8, "f").line(), 8U);
}

TEST(Place, AFullTableLosesOnlyFunctionNames) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int line = 1; line <= 6000; ++line) {
                const std::source_location at = place_of("many.c", line, "f");
                const bool known =
                    std::strcmp(at.file_name(), "many.c") == 0 && at.line() == static_cast<unsigned>(line);
                if (!known && std::strcmp(at.file_name(), "?") != 0) ++wrong;
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::detail
