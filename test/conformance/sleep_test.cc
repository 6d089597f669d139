// sleep_test.cc: sleeps are never too short, end in order, and work in any number, whatever else
// happens.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;

using Sleep = procs_test;
WEFT_SWEEP(Sleep);

// Nanoseconds by which the shortest of a few sleeps of this length was too short. Negative: none
// was.
int64_t shortfall(std::chrono::nanoseconds duration) {
    int64_t worst = std::numeric_limits<int64_t>::min();
    for (int i = 0; i < 5; ++i) {
        const auto start = steady_clock::now();
        sleep_for(duration);
        worst = std::max<int64_t>(worst, (duration - (steady_clock::now() - start)).count());
    }
    return worst;
}

constexpr std::chrono::nanoseconds durations[] = {1ns, 700ns, 30us, 999us, 1ms, 5ms};

TEST_P(Sleep, ASleepIsNeverShort) {
    for (const auto d : durations) EXPECT_LE(rt().run([d] { return shortfall(d); }), 0) << d.count() << " ns";
}

TEST_P(Sleep, ASleepOfAPlainThreadIsNeverShort) {
    for (const auto d : durations) EXPECT_LE(shortfall(d), 0) << d.count() << " ns";
}

[[maybe_unused]] void nothing(int) {}

// Signals that interrupt system calls arrive all the time.
TEST_P(Sleep, SignalsNeitherShortenNorProlongASleep) {
#if !defined(SIGUSR1)
    GTEST_SKIP() << "this system has no signals that interrupt system calls";
#else
    struct sigaction interrupt = {};
    struct sigaction before = {};
    interrupt.sa_handler = nothing;
    sigaction(SIGUSR1, &interrupt, &before);
    std::atomic<bool> stop = false;
    std::thread annoyer([&stop] {
        while (!stop) {
            kill(getpid(), SIGUSR1);  // any thread of the process
            std::this_thread::sleep_for(50us);
        }
    });
    const auto start = steady_clock::now();
    for (const auto d : durations) {
        EXPECT_LE(rt().run([d] { return shortfall(d); }), 0) << d.count() << " ns";
        EXPECT_LE(shortfall(d), 0) << d.count() << " ns";
    }
    EXPECT_LT(steady_clock::now() - start, patience());
    stop = true;
    annoyer.join();
    sigaction(SIGUSR1, &before, nullptr);
#endif
}

// Messages, wake-ups of others and Gs that end do not shorten a sleep.
TEST_P(Sleep, ASleepUnderLoadIsNeverShort) {
    std::atomic<bool> stop = false;
    const chan<int> c;
    for (int i = 0; i < 3; ++i) {
        rt().go([&stop, c] {
            while (!stop) (void)c.send_for(1, 20us);
        });
        rt().go([&stop, c] {
            while (!stop) (void)c.recv_for(20us);
        });
    }
    for (const auto d : durations) EXPECT_LE(rt().run([d] { return shortfall(d); }), 0) << d.count() << " ns";
    stop = true;
    rt().drain();
}

TEST_P(Sleep, ZeroAndNegativeDurationsReturnAtOnce) {
    rt().run([] {
        for (int i = 0; i < 100; ++i) {
            sleep_for(0ns);
            sleep_for(-1h);
            sleep_for(std::chrono::hours::min());
            sleep_for(std::chrono::duration<double>(-1e300));
            sleep_until(steady_clock::now() - 1s);
            sleep_until(steady_clock::time_point::min());
            sleep_until(system_clock::now() - 1s);
        }
    });
    sleep_for(0ns);
    sleep_for(-1h);
    sleep_until(steady_clock::time_point::min());
}

TEST_P(Sleep, APastWallClockTimeReturnsAtOnce) {
    rt().run([] {
        sleep_until(system_clock::time_point{});
        sleep_until(system_clock::time_point::min());
    });
}

TEST_P(Sleep, SleepUntilWaitsForBothClocks) {
    rt().run([] {
        const auto steady = steady_clock::now() + 3ms;
        sleep_until(steady);
        EXPECT_GE(steady_clock::now(), steady);
        const auto wall = system_clock::now() + 3ms;
        sleep_until(wall);
        EXPECT_GE(system_clock::now() + 1ms, wall);  // the wall clock may be slewed during the sleep
        sleep_until(std::chrono::time_point_cast<std::chrono::seconds>(system_clock::now()));
    });
}

TEST_P(Sleep, FractionsOfANanosecondAreRoundedUp) {
    rt().run([] {
        sleep_for(std::chrono::duration<double, std::nano>(0.25));
        sleep_for(std::chrono::duration<double>(1e-12));
        const auto start = steady_clock::now();
        sleep_for(std::chrono::duration<double, std::milli>(1.5));
        EXPECT_GE(steady_clock::now() - start, 1500us);
    });
}

// They still sleep when the runtime stops, which abandons them.
TEST_P(Sleep, TimesBeyondTheClockNeverCome) {
    std::atomic<int> woken = 0;
    park(6, [&] {
        rt().go([&woken] { sleep_for(std::chrono::hours::max()), ++woken; });
        rt().go([&woken] { sleep_for(std::chrono::nanoseconds::max()), ++woken; });
        rt().go([&woken] { sleep_for(std::chrono::duration<double>(1e300)), ++woken; });
        rt().go(
            [&woken] { sleep_for(std::chrono::duration<double>(std::numeric_limits<double>::infinity())), ++woken; });
        rt().go([&woken] { sleep_until(steady_clock::time_point::max()), ++woken; });
        rt().go([&woken] { sleep_until(system_clock::time_point::max()), ++woken; });
    });
    rt().run([] { sleep_for(5ms); });  // time in which due timers would fire
    EXPECT_EQ(rt().abandon(), 6U);
    EXPECT_EQ(woken, 0);
}

TEST_P(Sleep, ManySleepersSleepAtTheSameTime) {
    const int sleepers = scaled(5000);
    std::atomic<int> short_sleeps = 0;
    const auto start = steady_clock::now();
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < sleepers; ++i) {
            all.go([&] {
                const auto began = steady_clock::now();
                sleep_for(20ms);
                short_sleeps += steady_clock::now() - began < 20ms;
            });
        }
        all.wait();
    });
    EXPECT_EQ(short_sleeps, 0);
    EXPECT_LT(steady_clock::now() - start, sleepers * 20ms / 4);  // not one after the other
}

// Deadlines 20 ms apart, set in a mixed order, expire in their own order. A machine that stalls for
// longer may wake two at once, so a wrong order counts only if it repeats.
TEST_P(Sleep, SleepersWakeInTheOrderOfTheirDeadlines) {
    constexpr int attempts = 5;
    const std::vector<int> sorted = {0, 1, 2, 3, 4, 5};
    std::vector<int> woken;
    for (int attempt = 0; attempt < attempts && woken != sorted; ++attempt) {
        woken = rt().run([] {
            const chan<int> order(6);
            const auto start = steady_clock::now();
            for (const int place : {3, 0, 5, 1, 4, 2}) {
                go([=] {
                    sleep_until(start + (place + 1) * 20ms);
                    order.send(place);
                });
            }
            std::vector<int> seen;
            for (int i = 0; i < 6; ++i) seen.push_back(order.recv().value_or(-1));
            return seen;
        });
    }
    EXPECT_EQ(woken, sorted);
}

// A pair floods a channel without a gap. A sleeper beside it still wakes.
TEST_P(Sleep, ASleeperWakesBesideAFloodedChannel) {
    rt().run([this] {
        std::atomic<bool> stop = false;
        wait_group all;
        for (unsigned i = 0; i < procs(); ++i) {
            const chan<int> c;
            all.go([&stop, c] {
                while (!stop) c.send(1);
                c.close();
            });
            all.go([c] {
                for ([[maybe_unused]] const int v : c) {}
            });
        }
        for (int i = 0; i < 5; ++i) sleep_for(1ms);
        stop = true;
        all.wait();
    });
}

TEST_P(Sleep, ASleeperWakesBesideYielders) {
    rt().run([this] {
        std::atomic<bool> stop = false;
        wait_group all;
        for (unsigned i = 0; i < 2 * procs(); ++i) {
            all.go([&stop] {
                while (!stop) weft::yield();
            });
        }
        for (int i = 0; i < 5; ++i) sleep_for(1ms);
        stop = true;
        all.wait();
    });
}

TEST_P(Sleep, SleepersProgressWhileOthersChainShortSleeps) {
    const int links = rt().run([] {
        std::atomic<bool> stop = false;
        std::atomic<int> done = 0;
        wait_group all;
        for (int i = 0; i < 4; ++i) {
            all.go([&] {
                for (; !stop; ++done) {
                    sleep_for(1us);
                    weft::yield();
                }
            });
        }
        sleep_for(20ms);
        stop = true;
        all.wait();
        return done.load();
    });
    EXPECT_GT(links, 4);
}

TEST_P(Sleep, SleepersOutliveTheirStarter) {
    rt().run([] {
        wait_group all;
        for (int i = 0; i < 100; ++i) {
            all.go([&all] { all.go([] { sleep_for(1ms); }); });
            weft::yield();
        }
        sleep_for(2ms);
        all.wait();
    });
}

TEST_P(Sleep, RandomSleepsAllEnd) {
    const int sleepers = scaled(500);
    const uint64_t seed = announced_seed();
    std::atomic<int> short_sleeps = 0;
    std::atomic<int> slept = 0;
    rt().run([&] {
        wait_group all;
        prng seeds(seed);
        for (int i = 0; i < sleepers; ++i) {
            all.go([&, random = seeds.split()]() mutable {
                for (int round = 0; round < 20; ++round) {
                    const std::chrono::microseconds d(random.below(random.one_in(10) ? 5000 : 200));
                    const auto start = steady_clock::now();
                    sleep_for(d);
                    short_sleeps += steady_clock::now() - start < d;
                    ++slept;
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(slept, 20 * sleepers);
    EXPECT_EQ(short_sleeps, 0);
}

}  // namespace
}  // namespace weft::test
