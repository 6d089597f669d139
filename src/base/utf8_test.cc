// utf8_test.cc: which bytes begin a character.
#include "base/utf8.h"

#include <string_view>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

TEST(Utf8, SizesOfCharacters) {
    EXPECT_EQ(utf8_size("a\xc3\xa9"), 1U);
    EXPECT_EQ(utf8_size("\xc3\xa9z"), 2U);
    EXPECT_EQ(utf8_size("\xe2\x82\xac"), 3U);
    EXPECT_EQ(utf8_size("\xf0\x9f\x98\x80"), 4U);
    EXPECT_EQ(utf8_size("\xf4\x8f\xbf\xbf"), 4U);
    EXPECT_EQ(utf8_size(std::string_view("\0", 1)), 1U);
}

TEST(Utf8, BytesThatBeginNone) {
    for (const std::string_view text : {
             "\x80", "\xff", "\xc3", "\xc3z", "\xe2\x82", "\xe2\x82z", "\xf0\x9f\x98",  // incomplete
             "\xc0\xaf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",                            // longer than needed
             "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",                    // no characters
         }) {
        EXPECT_EQ(utf8_size(text), 0U) << text;
    }
}

}  // namespace
}  // namespace weft::detail
