// fail_option_test.cc: RUN_DEBUG=fail= counts the calls of a simulation from the start of each
// schedule.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <gtest/gtest.h>

#include <weft/net/udp.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "sim/check.h"

namespace weft {
namespace {

int error_of_socket() {
    try {
        const net::udp_socket one(net::endpoint("127.0.0.1:0"));
        return 0;
    } catch (const std::system_error& e) {
        return e.code().value();
    }
}

void second_socket_fails() {
    test::check(error_of_socket() == 0, "the first one is made");
    test::check(error_of_socket() == EMFILE, "the second one is not");
    test::check(error_of_socket() == 0, "the third one is made");
}

TEST(SimulationFailOption, CountsInEachSchedule) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            ::setenv("RUN_DEBUG", "fail=socket:2:EMFILE", 1);
            const sim::report r = sim::explore({.schedules = 20}, second_socket_fails);
            if (!r) std::fputs(r.text().c_str(), stderr);
            const sim::report fails = sim::explore({.schedules = 20}, [] {
                second_socket_fails();
                test::check(false, "to see the report");
            });
            std::fputs(fails.text().c_str(), stderr);
            std::exit(r ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "-- localhost: socket fails: Too many open files");
}

}  // namespace
}  // namespace weft
