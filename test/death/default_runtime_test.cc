// default_runtime_test.cc: the runtime that plain threads get on first use. There is one in a
// process, so each test has its own process.

#include <cstdlib>

#include <weft/weft.h>

#include "death/death.h"
#include "os/os.h"
#include "support/environment.h"

namespace weft::test {
namespace {

class DefaultRuntime : public DeathTest {};

// Ends the process with success if good, in the statement of a death test.
[[noreturn]] void report(bool good) { std::_Exit(good ? 0 : 1); }

TEST_F(DefaultRuntime, StartsWhenItIsFirstUsed) {
    EXPECT_EXIT(report(stats().procs == 0 && async([] { return 7; }).get() == 7 && stats().procs > 0),
                ::testing::ExitedWithCode(0), "");
}

TEST_F(DefaultRuntime, AFailedStartThrowsAndIsRetriedAtTheNextUse) {
    const auto fails_then_works = [](detail::os::failure what) {
        detail::os::fail_nth_for_test(what, 1);
        bool thrown = false;
        try {
            weft::go([] {});
        } catch (const resource_exhausted&) {
            thrown = true;
        }
        report(thrown && async([] { return 7; }).get() == 7);
    };
    EXPECT_EXIT(fails_then_works(detail::os::failure::map), ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(fails_then_works(detail::os::failure::thread), ::testing::ExitedWithCode(0), "");
}

TEST_F(DefaultRuntime, ObeysTheEnvironment) {
    EXPECT_EXIT(
        {
            change_environment("RUN_MAXPROCS", "3");
            report(async([] { return stats().procs; }).get() == 3);
        },
        ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(
        {
            change_environment("RUN_MAXPROCS", "three");
            report(async([] { return stats().procs; }).get() > 0);
        },
        ::testing::ExitedWithCode(0), "weft: RUN_MAXPROCS=\"three\" is not a number from 1 to 1024; using");
}

TEST_F(DefaultRuntime, IsDistinctFromTheRuntimeOfMain) {
    EXPECT_EXIT(
        {
            const int before = static_cast<int>(async([] { return this_g::id(); }).get());
            const int in_main = weft::main({.procs = 1}, [] { return static_cast<int>(stats().procs); });
            report(before > 0 && in_main == 1 && async([] { return 7; }).get() == 7);
        },
        ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::test
