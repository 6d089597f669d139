// blocking_cancel_test.cc: deadlines and cancellation around declared blocking calls, and inside
// them.

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "support/all_ways.h"
#include "support/interruption.h"
#include "support/procs_test.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using BlockingCancel = procs_test;
WEFT_SWEEP_OVER(BlockingCancel, 1U, 2U, 4U);

TEST_P(BlockingCancel, ADeadlineAroundTheCallEndsWaitsInIt) {
    rt().run([] {
        const chan<int> silent;
        const auto wait = [&] { return silent.recv_for(1s); };  // in case nothing interrupts it
        for (const hand_off way : all_ways) {
            EXPECT_EQ(ending_of([&] { return with_timeout(1ms, [&] { return blocking(way, wait); }); }),
                      ending::timed_out);
        }
        std::stop_source source;
        source.request_stop();
        EXPECT_EQ(ending_of([&] { return with_stop_token(source.get_token(), [&] { return blocking(wait); }); }),
                  ending::cancelled);
    });
}

TEST_P(BlockingCancel, ADeadlineInsideTheCallEndsWaits) {
    rt().run([] {
        const chan<int> silent;
        for (const hand_off way : all_ways) {
            const auto inside = [&] { return with_timeout(1ms, [&] { return silent.recv(); }); };
            EXPECT_EQ(ending_of([&] { return blocking(way, inside); }), ending::timed_out);
        }
    });
}

TEST_P(BlockingCancel, IsNoCancellationPoint) {
    rt().run([] {
        const auto past = std::chrono::steady_clock::now() - 1s;
        for (const hand_off way : all_ways) {
            EXPECT_EQ(with_deadline(past, [&] { return blocking(way, [] { return 5; }); }), 5);
        }
    });
}

TEST_P(BlockingCancel, AScopeInTheCallJoinsAndCancels) {
    const int ended = rt().run([] {
        std::atomic<int> count = 0;
        EXPECT_THROW(blocking([&] {
                         scope([&](auto& s) {
                             for (int i = 0; i < 3; ++i) {
                                 s.go([&] {
                                     count += ending_of([] {
                                                  sleep_for(1h);
                                                  return 0;
                                              }) == ending::cancelled;
                                 });
                             }
                             s.go([] { throw std::runtime_error("the first"); });
                         });
                     }),
                     std::runtime_error);
        return count.load();
    });
    EXPECT_EQ(ended, 3);
}

// Timers made inside a blocking call belong to the caller's runtime.
TEST_P(BlockingCancel, TimersInTheCallFire) {
    std::atomic<int> on_it = 0;
    rt().run([&] {
        blocking([&] {
            wait_group fired;
            fired.add();
            const timer t = after_func(1ms, [&] {
                on_it += stats().procs == procs();
                fired.done();
            });
            EXPECT_TRUE(after(1ms).recv());
            fired.wait();
            timer never(1h);
            EXPECT_TRUE(never.stop());
        });
    });
    EXPECT_EQ(on_it, 1);
    EXPECT_GE(rt().stats().timers_fired, 2U);
}

}  // namespace
}  // namespace weft::test
