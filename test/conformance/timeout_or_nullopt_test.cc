// timeout_or_nullopt_test.cc: a deadline as a result, and deadlines of others as exceptions.

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <weft/timeout_or_nullopt.h>
#include <weft/weft.h>

#include "support/procs_test.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using TimeoutOrNullopt = procs_test;
WEFT_SWEEP(TimeoutOrNullopt);

TEST_P(TimeoutOrNullopt, ReturnsWhatTheFunctionReturns) {
    rt().run([] {
        const auto number = with_timeout_or_nullopt(1h, [] { return 7; });
        static_assert(std::is_same_v<decltype(number), const std::optional<int>>);
        EXPECT_EQ(number, 7);
        auto owned = with_deadline_or_nullopt(steady_clock::now() + 1h, [] { return std::make_unique<int>(8); });
        ASSERT_TRUE(owned.has_value());
        EXPECT_EQ(**owned, 8);
        EXPECT_TRUE(with_timeout_or_nullopt(1h, [] {}));
    });
}

TEST_P(TimeoutOrNullopt, IsEmptyIfTheTimeIsUp) {
    rt().run([] {
        EXPECT_EQ(with_timeout_or_nullopt(1ms,
                                          [] {
                                              sleep_for(1h);
                                              return 1;
                                          }),
                  std::nullopt);
        EXPECT_FALSE(with_timeout_or_nullopt(1ms, [] { sleep_for(1h); }));
        EXPECT_FALSE(with_deadline_or_nullopt(steady_clock::now() - 1s, [] { sleep_for(1h); }));
    });
}

TEST_P(TimeoutOrNullopt, AnEarlierDeadlineAroundItIsThrown) {
    rt().run([] {
        EXPECT_THROW(with_timeout(1ms, [] { static_cast<void>(with_timeout_or_nullopt(1h, [] { sleep_for(1h); })); }),
                     timed_out);
        // Of two, the outer one is reported by the outer one.
        bool inner_returned = false;
        EXPECT_FALSE(with_timeout_or_nullopt(1ms, [&] {
            static_cast<void>(with_timeout_or_nullopt(1h, [] { sleep_for(1h); }));
            inner_returned = true;
        }));
        EXPECT_FALSE(inner_returned);
    });
}

TEST_P(TimeoutOrNullopt, ALaterDeadlineAroundItIsNot) {
    rt().run([] { with_timeout(1h, [] { EXPECT_FALSE(with_timeout_or_nullopt(1ms, [] { sleep_for(1h); })); }); });
}

TEST_P(TimeoutOrNullopt, ALimitWithinTheFunctionIsThrown) {
    rt().run([] {
        EXPECT_THROW(static_cast<void>(with_timeout_or_nullopt(1h, [] { with_timeout(1ms, [] { sleep_for(1h); }); })),
                     timed_out);
    });
}

TEST_P(TimeoutOrNullopt, OtherExceptionsPass) {
    rt().run([] {
        EXPECT_THROW(static_cast<void>(with_timeout_or_nullopt(1h, [] { throw std::runtime_error("no"); })),
                     std::runtime_error);
        std::stop_source stop;
        stop.request_stop();
        EXPECT_THROW(with_stop_token(stop.get_token(),
                                     [] { static_cast<void>(with_timeout_or_nullopt(1h, [] { sleep_for(1h); })); }),
                     weft::cancelled);
    });
}

TEST_P(TimeoutOrNullopt, WorksInPlainThreads) {
    EXPECT_FALSE(with_timeout_or_nullopt(1ms, [] { sleep_for(1h); }));
}

}  // namespace
}  // namespace weft::test
