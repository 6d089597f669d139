// lines_test.cc: with weft::observe, reports have source lines and inlined calls.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/captured.h"
#include "support/eventually.h"
#include "support/form.h"

namespace weft::test {
namespace {

constexpr int line_of_receive = __LINE__ + 3;

[[gnu::always_inline]] inline void expanded(const chan<int>& c) {
    c.recv();
    asm volatile("" ::: "memory");  // not a tail call
}

constexpr int line_of_call = __LINE__ + 3;

[[gnu::noinline]] void not_expanded(const chan<int>& c) {
    expanded(c);
    asm volatile("" ::: "memory");
}

struct line_of {
    std::string function;
    int line;
};

class Lines : public ::testing::Test {
protected:
    void SetUp() override {
        if (emulated) GTEST_SKIP() << "no names under the emulator";
    }

    // The lines of a dump while one green thread waits in body.
    template <typename Body>
    std::vector<std::string> dump_while(Body&& body) {
        runtime rt({.procs = 1});
        std::vector<std::string> lines;
        rt.run([&] {
            const chan<int> c;
            wait_group all;
            const uint64_t before = stats().parks;
            all.go([&] { body(c); });
            eventually([&] { return stats().parks > before; });
            lines = lines_of(written_by([](int fd) { weft::dump(fd); }));
            c.close();
            all.wait();
        });
        return lines;
    }

    static bool has(const std::vector<std::string>& lines, const std::string& form) {
        return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return has_form(line, form); });
    }

    static std::string all_of(const std::vector<std::string>& lines) {
        std::string text;
        for (const std::string& line : lines) text += line + '\n';
        return text;
    }
};

TEST_F(Lines, AFrameHasItsLine) {
    const auto lines = dump_while([](const chan<int>& c) { not_expanded(c); });
    EXPECT_TRUE(has(lines, "    #%d%snot_expanded(%s at %slines_test.cc:" + std::to_string(line_of_call)))
        << all_of(lines);
}

TEST_F(Lines, AnExpandedCallIsAFrameOfItsOwn) {
    const auto lines = dump_while([](const chan<int>& c) { not_expanded(c); });
    EXPECT_TRUE(has(lines, "    #0%sexpanded%s at %slines_test.cc:" + std::to_string(line_of_receive) + " (inlined)"))
        << all_of(lines);
}

TEST_F(Lines, TheOperationThatAGWaitsInIsNamed) {
    const auto lines = dump_while([](const chan<int>& c) { not_expanded(c); });
    EXPECT_TRUE(has(lines, "    … parked in weft::chan<int>::recv%s")) << all_of(lines);
}

// Its function has no linker's name, and its code is part of one of the runtime's functions.
TEST_F(Lines, ALambdaIsNamedByTheFunctionThatContainsIt) {
    constexpr int line = __LINE__ + 2;
    const auto lines = dump_while([](const chan<int>& c) {
        c.recv();
        asm volatile("" ::: "memory");
    });
    EXPECT_TRUE(has(
        lines, "    #0%sALambdaIsNamedByTheFunctionThatContainsIt%s at %slines_test.cc:" + std::to_string(line) + "%s"))
        << all_of(lines);
}

TEST_F(Lines, TheJsonFormHasFileAndLine) {
    runtime rt({.procs = 1});
    rt.run([&] {
        const chan<int> c;
        wait_group all;
        const uint64_t before = stats().parks;
        all.go([&] { not_expanded(c); });
        eventually([&] { return stats().parks > before; });
        const std::string text = written_by([](int fd) { weft::dump(fd, {.form = dump_form::json}); });
        EXPECT_NE(text.find("lines_test.cc\",\"line\":" + std::to_string(line_of_call) + ",\"inlined\":false"),
                  text.npos)
            << text;
        c.close();
        all.wait();
    });
}

}  // namespace
}  // namespace weft::test
