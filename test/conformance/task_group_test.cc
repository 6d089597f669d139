// task_group_test.cc: green threads of an object: the first exception, the limit, the end.

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include <weft/task_group.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using TaskGroup = procs_test;
WEFT_SWEEP(TaskGroup);

TEST_P(TaskGroup, WaitReturnsWhenAllTasksHaveEnded) {
    rt().run([] {
        std::atomic<int> ended = 0;
        task_group g;
        for (int i = 0; i < 20; ++i) {
            g.go([&] {
                yield();
                ++ended;
            });
        }
        g.wait();
        EXPECT_EQ(ended, 20);
        EXPECT_FALSE(g.cancelled());
    });
}

TEST_P(TaskGroup, TheFirstExceptionCancelsTheOthersAndIsThrown) {
    rt().run([] {
        std::atomic<int> interrupted = 0;
        task_group g;
        for (int i = 0; i < 5; ++i) {
            g.go([&] {
                try {
                    sleep_for(1h);
                } catch (const weft::cancelled&) {
                    ++interrupted;
                    throw;
                }
            });
        }
        g.go([] { throw std::runtime_error("first"); });
        std::string what;
        try {
            g.wait();
        } catch (const std::runtime_error& e) {
            what = e.what();
        }
        EXPECT_EQ(what, "first");
        EXPECT_EQ(interrupted, 5);
        EXPECT_TRUE(g.cancelled());
        EXPECT_EQ(g.further_exceptions(), 0U);
    });
}

TEST_P(TaskGroup, NoMoreThanTheLimitRunAtATime) {
    rt().run([] {
        for (const int limit : {1, 3}) {
            std::atomic<int> inside = 0;
            std::atomic<int> excesses = 0;
            task_group g;
            g.limit(limit);
            for (int i = 0; i < scaled(100); ++i) {
                g.go([&, i] {
                    if (++inside > limit) ++excesses;
                    if (i % 4 == 0) sleep_for(20us);
                    --inside;
                });
            }
            g.wait();
            EXPECT_EQ(excesses, 0);
        }
    });
}

TEST_P(TaskGroup, TryGoRefusesBeyondTheLimit) {
    rt().run([] {
        task_group g;
        g.limit(2);
        const chan<int> gate;
        EXPECT_TRUE(g.try_go([&] { gate.recv(); }));
        g.go([&] { gate.recv(); });
        EXPECT_FALSE(g.try_go([] { FAIL(); }));
        gate.send(1);
        while (!g.try_go([] {})) yield();
        gate.close();
        g.wait();
    });
}

TEST_P(TaskGroup, AWaitForAPlaceIsACancellationPoint) {
    rt().run([] {
        task_group g;
        g.limit(1);
        const chan<int> gate;
        g.go([&] { gate.recv(); });
        EXPECT_THROW(with_timeout(1ms, [&] { g.go([] { FAIL(); }); }), timed_out);
        gate.close();
        g.wait();
    });
}

TEST_P(TaskGroup, AFailedTaskMakesRoomForTheCallerThatWaitsForAPlace) {
    rt().run([] {
        task_group g;
        g.limit(1);
        g.go([] {
            yield();
            throw std::runtime_error("no");
        });
        bool ran_on = false;
        g.go([&] {
            sleep_for(1h);  // the group is cancelled
            ran_on = true;
        });
        EXPECT_THROW(g.wait(), std::runtime_error);
        EXPECT_FALSE(ran_on);
    });
}

TEST_P(TaskGroup, CancelEndsItWithoutAnException) {
    rt().run([] {
        task_group g;
        g.go([] { sleep_for(1h); });
        g.cancel();
        g.wait();
        EXPECT_TRUE(g.cancelled());
    });
}

TEST_P(TaskGroup, TheDestructorCancelsAndWaits) {
    rt().run([] {
        std::atomic<bool> ended = false;
        const auto owned = std::make_shared<int>(1);
        {
            task_group g;
            g.limit(3);
            g.go([&, owned] {
                try {
                    sleep_for(1h);
                } catch (const weft::cancelled&) {
                    shield([] { sleep_for(1ms); });
                    ended = true;
                    throw;
                }
            });
        }
        EXPECT_TRUE(ended);
        EXPECT_EQ(owned.use_count(), 1);
    });
}

TEST_P(TaskGroup, ADeadlineAroundTheGroupReachesItsTasks) {
    rt().run([] {
        EXPECT_THROW(with_timeout(1ms,
                                  [] {
                                      task_group g;
                                      g.go([] { sleep_for(1h); });
                                      g.wait();
                                  }),
                     timed_out);
    });
}

TEST_P(TaskGroup, ATaskMayStartOthers) {
    rt().run([] {
        std::atomic<int> ran = 0;
        task_group g;
        g.go([&] {
            for (int i = 0; i < 10; ++i) g.go([&] { ++ran; });
        });
        g.wait();
        EXPECT_EQ(ran, 10);
    });
}

TEST_P(TaskGroup, APlainThreadMayUseOne) {
    std::atomic<int> ran = 0;
    task_group g;
    g.limit(2);
    for (int i = 0; i < 10; ++i) g.go([&] { ++ran; });
    g.wait();
    EXPECT_EQ(ran, 10);
    EXPECT_THROW(g.limit(1), std::logic_error);
    task_group other;
    EXPECT_THROW(other.limit(0), std::invalid_argument);
}

}  // namespace
}  // namespace weft::test
