// debug_options_test.cc: parsing of RUN_DEBUG, and reports of invalid parts.
#include "lifecycle/debug_options.h"

#include <cerrno>
#include <csignal>
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

TEST(DebugOptions, RandomAcceptsASeed) {
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
    EXPECT_EQ(said, "weft: RUN_DEBUG: \"stack_use=2\" is ignored: the value must be 0 or 1\n");
}

TEST(DebugOptions, RetakeIsOffOnOrAlways) {
    EXPECT_TRUE(parse_debug_options("").retake);
    EXPECT_FALSE(parse_debug_options("").retake_always);
    EXPECT_FALSE(parse_debug_options("retake=0").retake);
    EXPECT_TRUE(parse_debug_options("retake=always").retake);
    EXPECT_TRUE(parse_debug_options("retake=0,retake=always").retake) << "the last one counts";
    EXPECT_TRUE(parse_debug_options("retake=0,retake=always").retake_always);
    EXPECT_FALSE(parse_debug_options("retake=always,retake=1").retake_always);
    const std::string said = test::stderr_of([] { EXPECT_TRUE(parse_debug_options("retake=never").retake); });
    EXPECT_EQ(said, "weft: RUN_DEBUG: \"retake=never\" is ignored: the value must be 0 or 1\n");
}

TEST(DebugOptions, PlacementIsOnOrOff) {
    EXPECT_TRUE(parse_debug_options("").placement);
    EXPECT_FALSE(parse_debug_options("placement=0").placement);
    EXPECT_TRUE(parse_debug_options("placement=0,placement=1").placement) << "the last one counts";
}

TEST(DebugOptions, JunkIsReportedAndIgnored) {
    const auto said = [](const char* text) {
        debug_options options;
        std::string line = test::stderr_of([&] { options = parse_debug_options(text); });
        EXPECT_FALSE(options.random_seed) << text;
        return line;
    };
    EXPECT_EQ(said("ramdom"),
              "weft: RUN_DEBUG: \"ramdom\" is unknown and ignored; known: random, random=SEED, retake=0, "
              "retake=always, placement=0, stack_use=1, schedtrace=MS, scheddetail=1, dumpsignal=NAME, watchdog=MS, "
              "deadlock=0, deadlock=strict, lockowners=1, symbols=0, frames=all, tsan=green_threads, sanitizer=0, "
              "fail=CALL:N:ERROR\n");
    EXPECT_EQ(said("random=yes"), "weft: RUN_DEBUG: random=\"yes\" is ignored: the value must be a number\n");
    EXPECT_EQ(said("random="), "weft: RUN_DEBUG: random=\"\" is ignored: the value must be a number\n");
    EXPECT_EQ(said("random=-1"), "weft: RUN_DEBUG: random=\"-1\" is ignored: the value must be a number\n");
    EXPECT_EQ(said("random=1x"), "weft: RUN_DEBUG: random=\"1x\" is ignored: the value must be a number\n");
}

TEST(DebugOptions, CallsThatShallFail) {
    const debug_options none = parse_debug_options("");
    EXPECT_EQ(none.failure_count, 0U);
    const debug_options two = parse_debug_options("fail=accept4:3:EMFILE,fail=mmap:every:ENOMEM");
    ASSERT_EQ(two.failure_count, 2U);
    EXPECT_EQ(two.failures[0].kind, os::failure::accept);
    EXPECT_EQ(two.failures[0].n, 3);
    EXPECT_EQ(two.failures[0].error, EMFILE);
    EXPECT_EQ(two.failures[1].kind, os::failure::map);
    EXPECT_EQ(two.failures[1].n, os::failure_rule::every);
    EXPECT_EQ(two.failures[1].error, ENOMEM);
}

TEST(DebugOptions, InvalidCallsThatShallFailAreReportedAndIgnored) {
    const auto said = [](const char* text) {
        debug_options options;
        std::string line = test::stderr_of([&] { options = parse_debug_options(text); });
        EXPECT_EQ(options.failure_count, 0U) << text;
        return line;
    };
    EXPECT_EQ(said("fail=acept4:3:EMFILE"),
              "weft: RUN_DEBUG: \"fail=acept4:3:EMFILE\" is ignored: docs/system_calls.md lists the calls that can be "
              "made to fail; write fail=accept4:3:EMFILE\n");
    for (const char* text :
         {"fail=accept4", "fail=accept4:0:EMFILE", "fail=accept4:-1:EMFILE", "fail=accept4:3x:EMFILE"})
        EXPECT_NE(said(text).find("after the call must come the number of the one that fails"), std::string::npos);
    for (const char* text : {"fail=accept4:3", "fail=accept4:3:", "fail=accept4:3:EMFIL", "fail=accept4:3:EMFILE:4"})
        EXPECT_NE(said(text).find("at the end must come the name of an error of the system"), std::string::npos);
    EXPECT_NE(said("fail").find("docs/system_calls.md"), std::string::npos);
    std::string many;
    for (std::size_t i = 0; i <= os::failure_rules_most; ++i) many += "fail=accept4:1:EMFILE,";
    EXPECT_NE(test::stderr_of([&] {
                  EXPECT_EQ(parse_debug_options(many.c_str()).failure_count, os::failure_rules_most);
              }).find("there are 16 already"),
              std::string::npos);
}

TEST(DebugOptions, ParsesTraceAndReportOptions) {
    const debug_options none = parse_debug_options("");
    EXPECT_EQ(none.trace_ms, 0U);
    EXPECT_EQ(none.watchdog_ms, 0U);
    EXPECT_EQ(none.dump_signal, 0);
    EXPECT_EQ(none.deadlock, deadlock_search::on);
    EXPECT_FALSE(none.lock_owners);
    const debug_options all =
        parse_debug_options("schedtrace=1000,scheddetail=1,dumpsignal=INT,watchdog=100,deadlock=strict,lockowners=1");
    EXPECT_EQ(all.trace_ms, 1000U);
    EXPECT_TRUE(all.trace_detail);
    EXPECT_EQ(all.watchdog_ms, 100U);
    EXPECT_EQ(all.dump_signal, SIGINT);
    EXPECT_EQ(all.deadlock, deadlock_search::strict);
    EXPECT_TRUE(all.lock_owners);
    EXPECT_EQ(parse_debug_options("deadlock=0").deadlock, deadlock_search::off);
    EXPECT_EQ(parse_debug_options("dumpsignal=SIGTERM").dump_signal, SIGTERM);
    EXPECT_EQ(parse_debug_options("dumpsignal=15").dump_signal, 15);
}

TEST(DebugOptions, InvalidReportOptionsAreReportedAndIgnored) {
    debug_options options;
    const std::string text = test::stderr_of([&] {
        options =
            parse_debug_options("schedtrace,schedtrace=x,watchdog=-1,dumpsignal=SEGV,dumpsignal=9,deadlock=maybe");
    });
    EXPECT_EQ(options.trace_ms, 0U);
    EXPECT_EQ(options.watchdog_ms, 0U);
    EXPECT_EQ(options.dump_signal, 0);
    EXPECT_EQ(options.deadlock, deadlock_search::on);
    EXPECT_EQ(test::lines_of(text).size(), 6U) << text;
}

}  // namespace
}  // namespace weft::detail
