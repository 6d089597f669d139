// debug_options_test.cc: what RUN_DEBUG may say, and what is said about what it may not.
#include "sched/debug_options.h"

#include <string>

#include <gtest/gtest.h>

#include "support/captured.h"

namespace weft::detail {
namespace {

TEST(DebugOptions, AreNoneByDefault) {
    EXPECT_FALSE(parse_debug_options(nullptr).random_seed);
    EXPECT_FALSE(parse_debug_options("").random_seed);
    EXPECT_FALSE(parse_debug_options(",,").random_seed);
}

TEST(DebugOptions, RandomHasASeedThatOneMayChoose) {
    EXPECT_TRUE(parse_debug_options("random").random_seed);
    EXPECT_EQ(parse_debug_options("random=77").random_seed, 77U);
    EXPECT_EQ(parse_debug_options("random=18446744073709551615").random_seed, UINT64_MAX);
    EXPECT_EQ(parse_debug_options("random=1,random=2").random_seed, 2U) << "the last one counts";
}

TEST(DebugOptions, StackUseIsOnOrOff) {
    EXPECT_FALSE(parse_debug_options("random=1").stack_use);
    EXPECT_TRUE(parse_debug_options("stack_use=1").stack_use);
    EXPECT_TRUE(parse_debug_options("random=1,stack_use=1").stack_use);
    EXPECT_FALSE(parse_debug_options("stack_use=1,stack_use=0").stack_use) << "the last one counts";
    const std::string said = test::stderr_of([] { EXPECT_FALSE(parse_debug_options("stack_use=2").stack_use); });
    EXPECT_EQ(said, "weft: RUN_DEBUG: \"stack_use=2\" is neither 0 nor 1 and ignored\n");
}

TEST(DebugOptions, JunkIsSaidAndIgnored) {
    const auto said = [](const char* text) {
        debug_options options;
        std::string line = test::stderr_of([&] { options = parse_debug_options(text); });
        EXPECT_FALSE(options.random_seed) << text;
        return line;
    };
    EXPECT_EQ(
        said("ramdom"),
        "weft: RUN_DEBUG: \"ramdom\" is not known and ignored; known: random, random=SEED, retake=0, stack_use=1\n");
    EXPECT_EQ(said("random=yes"), "weft: RUN_DEBUG: random=\"yes\" is not a number and ignored\n");
    EXPECT_EQ(said("random="), "weft: RUN_DEBUG: random=\"\" is not a number and ignored\n");
    EXPECT_EQ(said("random=-1"), "weft: RUN_DEBUG: random=\"-1\" is not a number and ignored\n");
    EXPECT_EQ(said("random=1x"), "weft: RUN_DEBUG: random=\"1x\" is not a number and ignored\n");
}

}  // namespace
}  // namespace weft::detail
