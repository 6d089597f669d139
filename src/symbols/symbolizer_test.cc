// symbolizer_test.cc: another process finds names, and the program does not notice that process.
#include "symbols/symbolizer.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/build.h"
#include "symbols/symbol_service.h"

namespace weft::detail {
namespace {

[[gnu::noinline]] void a_function_to_be_named() { asm volatile("" ::: "memory"); }

class Symbolizer : public ::testing::Test {
protected:
    void SetUp() override {
        if (test::emulated) GTEST_SKIP() << "the emulator cannot start the process";
    }

    static os::code_place place_of(const void* address) {
        os::code_place place{};
        EXPECT_TRUE(os::find_code(address, place));
        return place;
    }

    static os::code_place known() { return place_of(reinterpret_cast<const void*>(&a_function_to_be_named)); }

    static std::vector<std::string> names(symbolizer& s, const os::code_place& place) {
        std::vector<std::string> found;
        s.ask(place, nullptr, nullptr, [&](const symbol& f) { found.emplace_back(f.function); });
        return found;
    }
};

TEST_F(Symbolizer, NamesFunctionsOfThisProgram) {
    symbolizer s;
    for (int i = 0; i < 3; ++i) {
        const std::vector<std::string> found = names(s, known());
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0], "weft::detail::(anonymous namespace)::a_function_to_be_named()");
    }
}

TEST_F(Symbolizer, NamesFunctionsOfLibraries) {
    symbolizer s;
    os::code_place place = place_of(reinterpret_cast<const void*>(&::getpid));
    if (place.in_program) GTEST_SKIP() << "a static program";
    EXPECT_FALSE(names(s, place).empty());
}

TEST_F(Symbolizer, KnowsNothingOfOtherAddressesAndGoesOn) {
    symbolizer s;
    os::code_place nowhere = known();
    nowhere.address = 1;
    EXPECT_TRUE(names(s, nowhere).empty());
    EXPECT_EQ(names(s, known()).size(), 1U);
    nowhere.in_program = false;
    nowhere.path = "/no/such/file";
    EXPECT_TRUE(names(s, nowhere).empty());
    const std::string too_long(4096, 'x');
    nowhere.path = too_long.c_str();
    EXPECT_TRUE(names(s, nowhere).empty());
    EXPECT_EQ(names(s, known()).size(), 1U);
}

std::atomic<int> ended_children = 0;

TEST_F(Symbolizer, ItsProcessIsNoChildThatTheProgramSees) {
    struct sigaction counting{};
    counting.sa_handler = [](int) { ended_children.fetch_add(1); };
    struct sigaction before{};
    ASSERT_EQ(sigaction(SIGCHLD, &counting, &before), 0);
    {
        symbolizer s;
        EXPECT_EQ(names(s, known()).size(), 1U);
        int status = 0;
        EXPECT_EQ(::waitpid(-1, &status, WNOHANG), -1);
        EXPECT_EQ(errno, ECHILD);
    }
    EXPECT_EQ(ended_children.load(), 0);
    sigaction(SIGCHLD, &before, nullptr);
}

TEST_F(Symbolizer, AnswersEndWhenTheCallerWantsNoMore) {
    symbolizer s;
    int calls = 0;
    const auto stop = [](void* count) {
        ++*static_cast<int*>(count);
        return false;
    };
    EXPECT_EQ(s.ask(known(), stop, &calls, [](const symbol&) {}), 0);
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(names(s, known()).empty());
}

// A broken service is not started by a broken service.
TEST_F(Symbolizer, DoesNotStartInAProcessThatShouldBeTheService) {
    ::setenv(symbol_service::variable, "1", 1);
    EXPECT_FALSE(symbol_service::can_start());
    ::unsetenv(symbol_service::variable);
    EXPECT_TRUE(symbol_service::can_start());
}

}  // namespace
}  // namespace weft::detail
