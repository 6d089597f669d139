// command_line_windows_test.cc: words reach a program as they are.
#include "os/command_line_windows.h"

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

namespace weft::detail::os {
namespace {

std::wstring line_of(std::initializer_list<const wchar_t*> words) {
    std::wstring line;
    for (const wchar_t* word : words) add_quoted(line, word);
    return line;
}

TEST(CommandLine, QuotesOnlyWordsThatNeedIt) {
    EXPECT_EQ(line_of({L"a", L"b\\c", L"--d=e"}), L"a b\\c --d=e");
    EXPECT_EQ(line_of({L"a", L""}), L"a \"\"");
    EXPECT_EQ(line_of({L"two words", L"tab\there"}), L"\"two words\" \"tab\there\"");
}

TEST(CommandLine, DoublesBackslashesOnlyBeforeQuotes) {
    EXPECT_EQ(line_of({L"a", L"b\"c"}), L"a \"b\\\"c\"");
    EXPECT_EQ(line_of({L"a", L"b\\\"c"}), L"a \"b\\\\\\\"c\"");
    EXPECT_EQ(line_of({L"a", L"C:\\x y\\"}), L"a \"C:\\x y\\\\\"");
}

TEST(CommandLine, RefusesTextThatIsNotUtf8) {
    std::wstring wide;
    EXPECT_TRUE(widen("\xc3\xa4", wide));
    EXPECT_EQ(wide, L"\u00e4");
    EXPECT_TRUE(widen("", wide));
    EXPECT_EQ(wide, L"");
    EXPECT_FALSE(widen("\xff", wide));
}

TEST(CommandLine, FindsProgramsInPathOnly) {
    std::wstring found;
    EXPECT_TRUE(find_program(L"cmd", L"", L"C:\\no such;;C:\\windows\\system32", found));
    EXPECT_EQ(found, L"C:\\windows\\system32\\cmd.exe");
    EXPECT_TRUE(find_program(L"cmd.exe", L"", L"C:\\windows\\system32\\", found));
    EXPECT_EQ(found, L"C:\\windows\\system32\\cmd.exe");
    EXPECT_FALSE(find_program(L"cmd", L"C:\\windows\\system32", L"C:\\windows", found)) << "no slash: PATH only";
    EXPECT_TRUE(find_program(L".\\cmd", L"C:\\windows\\system32", L"", found));
    EXPECT_FALSE(find_program(L"C:\\windows\\system32", L"", L"", found)) << "a folder";
}

}  // namespace
}  // namespace weft::detail::os
