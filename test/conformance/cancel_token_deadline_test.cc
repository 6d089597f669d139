// cancel_token_deadline_test.cc: this_g::stop_token under a deadline.

#include <atomic>
#include <chrono>
#include <stop_token>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using CancelTokenDeadline = procs_test;
WEFT_SWEEP(CancelTokenDeadline);

TEST_P(CancelTokenDeadline, TheTokenIsStoppedWhenTheTimeIsUp) {
    rt().run([] {
        for (const auto limit : {1us, 200us, 3000us}) {
            std::atomic<int> calls = 0;
            const auto start = steady_clock::now();
            with_timeout(limit, [&] {
                const std::stop_token token = this_g::stop_token();
                const std::stop_callback on_stop(token, [&] { ++calls; });
                EXPECT_TRUE(token.stop_possible());
                eventually([&] { return token.stop_requested(); });
                EXPECT_GE(steady_clock::now() - start, limit);
                EXPECT_EQ(this_g::stop_token(), token);
            });
            EXPECT_EQ(calls, 1);
        }
    });
}

// The token is stopped by the time a wait reports the timeout.
TEST_P(CancelTokenDeadline, TheTokenIsStoppedOnceAWaitTimesOut) {
    rt().run([] {
        for (const auto limit : {1us, 200us, 3000us}) {
            with_timeout(limit, [&] {
                const std::stop_token token = this_g::stop_token();
                std::atomic<int> calls = 0;
                const std::stop_callback on_stop(token, [&] { ++calls; });
                with_timeout(1h, [&] {
                    EXPECT_THROW(sleep_for(1h), timed_out);
                    EXPECT_TRUE(token.stop_requested());
                    eventually([&] { return calls == 1; });
                });
            });
        }
    });
}

TEST_P(CancelTokenDeadline, ADeadlineInThePastStopsTheTokenAtOnce) {
    rt().run([] {
        with_timeout(0s, [] { EXPECT_TRUE(this_g::stop_token().stop_requested()); });
        with_timeout(0s, [] { with_timeout(1h, [] { EXPECT_TRUE(this_g::stop_token().stop_requested()); }); });
    });
    with_timeout(0s, [] { EXPECT_TRUE(this_g::stop_token().stop_requested()); });
}

TEST_P(CancelTokenDeadline, AnOuterDeadlineStopsTheToken) {
    rt().run([] {
        with_timeout(1ms, [] {
            scope([](task_scope&) {
                const std::stop_token token = this_g::stop_token();
                eventually([&] { return token.stop_requested(); });
            });
        });
    });
}

// A deadline that does not expire leaves nothing behind.
TEST_P(CancelTokenDeadline, ADeadlineThatDoesNotExpireLeavesNothing) {
    const int rounds = scaled(1000);
    rt().run([rounds] {
        std::stop_token last;
        for (int i = 0; i < rounds; ++i) {
            with_timeout(i % 10 == 0 ? 50us : std::chrono::microseconds(1h), [&] {
                last = this_g::stop_token();
                if (i % 3 == 0) weft::yield();
            });
        }
    });
    rt().drain();
}

TEST_P(CancelTokenDeadline, TheTokenIsStoppedSoonAfterATimedOutReceive) {
    rt().run([] {
        std::stop_token token;
        EXPECT_EQ(ending_of([&] {
                      with_timeout(300us, [&] {
                          token = this_g::stop_token();
                          EXPECT_EQ(ending_of([] { chan<int>().recv(); }), ending::timed_out);
                          eventually([&] { return token.stop_requested(); });
                          chan<int>().recv();
                      });
                  }),
                  ending::timed_out);
    });
}

}  // namespace
}  // namespace weft::test
