// blocking_pool_test.cc: a pool runs at most its number of calls at once.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "support/bystanders.h"
#include "support/eventually.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using BlockingPool = procs_test;
WEFT_SWEEP_OVER(BlockingPool, 1U, 2U, 4U);

// Counts the calls that are inside, and the maximum so far.
class gauge {
public:
    void enter() {
        const int now = ++inside_;
        int most = most_;
        while (now > most && !most_.compare_exchange_weak(most, now)) {}
    }

    void leave() { --inside_; }

    [[nodiscard]] int inside() const { return inside_; }

    [[nodiscard]] int most() const { return most_; }

private:
    std::atomic<int> inside_{0};
    std::atomic<int> most_{0};
};

TEST_P(BlockingPool, AdmitsAsManyCallsAsItsCap) {
    for (const int cap : {1, 3, 7}) {
        blocking_pool pool("disk", cap);
        gauge calls;
        std::atomic<bool> over = false;
        const int n = 2 * cap + 5;
        for (int i = 0; i < n; ++i) {
            rt().go([&] {
                pool.run([&] {
                    calls.enter();
                    while (!over) std::this_thread::sleep_for(100us);
                    calls.leave();
                });
            });
        }
        eventually([&] { return calls.inside() == cap && pool.waiting() == n - cap; });
        EXPECT_EQ(pool.running(), cap);
        bystanders others(rt());
        EXPECT_TRUE(others.go_on());
        EXPECT_EQ(calls.inside(), cap);
        over = true;
        rt().drain();
        EXPECT_EQ(calls.most(), cap);
        EXPECT_EQ(pool.running(), 0);
        EXPECT_EQ(pool.waiting(), 0);
    }
}

TEST_P(BlockingPool, ReturnsItsNameAndCap) {
    const blocking_pool pool("database", 12);
    EXPECT_EQ(pool.name(), "database");
    EXPECT_EQ(pool.cap(), 12);
}

TEST_P(BlockingPool, NeverExceedsItsCap) {
    constexpr int cap = 4;
    constexpr int callers = 40;
    const int each = scaled(50);
    blocking_pool pool("net", cap);
    gauge calls;
    tally made(static_cast<std::size_t>(callers * each));
    for (int c = 0; c < callers; ++c) {
        rt().go([&, c] {
            for (int i = 0; i < each; ++i) {
                const int number = c * each + i;
                EXPECT_EQ(pool.run([&] {
                    calls.enter();
                    made.mark(static_cast<std::size_t>(number));
                    if (i % 10 == 0) std::this_thread::sleep_for(50us);
                    calls.leave();
                    return number;
                }),
                          number);
                if (i % 3 == 0) weft::yield();
            }
        });
    }
    rt().drain();
    EXPECT_LE(calls.most(), cap);
    EXPECT_TRUE(made.exactly_once());
}

TEST_P(BlockingPool, ServesInOrderOfArrival) {
    constexpr int n = 30;
    blocking_pool pool("queue", 1);
    std::vector<int> order;  // written inside, one call at a time
    std::atomic<bool> over = false;
    rt().go([&] {
        pool.run([&] {
            while (!over) std::this_thread::sleep_for(100us);
        });
    });
    eventually([&] { return pool.running() == 1; });
    for (int i = 0; i < n; ++i) {
        park(1, [&] { rt().go([&, i] { pool.run([&] { order.push_back(i); }); }); });
    }
    EXPECT_EQ(pool.waiting(), n);
    over = true;
    rt().drain();
    ASSERT_EQ(order.size(), std::size_t{n});
    EXPECT_TRUE(std::ranges::is_sorted(order));
}

// ---- Callers that do not get in.

TEST_P(BlockingPool, ACancelledWaiterIsNotCalled) {
    blocking_pool pool("full", 1);
    std::atomic<bool> over = false;
    std::atomic<int> called = 0;
    std::atomic<int> given_up = 0;
    rt().go([&] {
        pool.run([&] {
            while (!over) std::this_thread::sleep_for(100us);
        });
    });
    eventually([&] { return pool.running() == 1; });
    std::stop_source source;
    for (int i = 0; i < 6; ++i) {
        rt().go([&, i, token = source.get_token()] {
            const auto call = [&] {
                pool.run([&] { ++called; });
                return 0;
            };
            if (i % 2 == 0) {
                given_up += ending_of([&] { return with_timeout(2ms, call); }) == ending::timed_out;
            } else {
                given_up += ending_of([&] { return with_stop_token(token, call); }) == ending::cancelled;
            }
        });
    }
    eventually([&] { return given_up >= 3; });
    eventually([&] { return pool.waiting() == 3; });
    source.request_stop();
    eventually([&] { return given_up == 6; });
    EXPECT_EQ(called, 0);
    EXPECT_EQ(pool.waiting(), 0);
    EXPECT_EQ(pool.running(), 1);
    over = true;
    rt().drain();
    // No place is still taken.
    EXPECT_EQ(rt().run([&] { return pool.run([] { return 5; }); }), 5);
    EXPECT_EQ(called, 0);
}

// At whatever moment the cancellation comes, the caller either gives up or is let in.
TEST_P(BlockingPool, ACancellationRacingWithAdmissionLosesNoPlace) {
    constexpr int cap = 2;
    blocking_pool pool("race", cap);
    gauge calls;
    std::atomic<int> called = 0;
    std::atomic<int> given_up = 0;
    const int n = scaled(600);
    for (int i = 0; i < n; ++i) {
        rt().go([&, i] {
            const ending e = ending_of([&] {
                return with_timeout(std::chrono::microseconds(i * 7 % 400), [&] {
                    return pool.run([&] {
                        calls.enter();
                        ++called;
                        std::this_thread::sleep_for(20us);
                        calls.leave();
                        return 0;
                    });
                });
            });
            given_up += e != ending::served;
        });
    }
    rt().drain();
    EXPECT_EQ(called + given_up, n);
    EXPECT_LE(calls.most(), cap);
    EXPECT_EQ(pool.running(), 0);
    EXPECT_EQ(pool.waiting(), 0);
}

TEST_P(BlockingPool, AnExceptionReleasesThePlace) {
    blocking_pool pool("thrower", 1);
    rt().run([&] {
        for (int i = 0; i < 20; ++i) {
            EXPECT_THROW(pool.run([] { throw std::runtime_error("inside"); }), std::runtime_error);
            EXPECT_EQ(pool.running(), 0);
        }
        EXPECT_EQ(*pool.run([] { return std::make_unique<int>(3); }), 3);
    });
}

TEST(BlockingPoolMade, NeedsACapOfOneAtLeast) {
    for (const int cap : {0, -1}) {
        try {
            const blocking_pool pool("the-empty-one", cap);
            FAIL() << "made with a cap of " << cap;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find("the-empty-one"), std::string::npos) << e.what();
        }
    }
    EXPECT_EQ(blocking_pool("one", 1).cap(), 1);
}

// ---- Plain threads.

TEST_P(BlockingPool, PlainAndGreenThreadsShareIt) {
    constexpr int cap = 2;
    blocking_pool pool("shared", cap);
    gauge calls;
    std::atomic<int> done = 0;
    const int each = scaled(100);
    const auto work = [&] {
        for (int i = 0; i < each; ++i) {
            pool.run([&] {
                calls.enter();
                ++done;
                if (i % 10 == 0) std::this_thread::sleep_for(20us);
                calls.leave();
            });
        }
    };
    std::vector<std::thread> plain;
    for (int i = 0; i < 3; ++i) {
        plain.emplace_back(work);
        rt().go(work);
    }
    for (std::thread& t : plain) t.join();
    rt().drain();
    EXPECT_EQ(done, 6 * each);
    EXPECT_LE(calls.most(), cap);
}

}  // namespace
}  // namespace weft::test
