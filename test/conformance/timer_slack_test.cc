// timer_slack_test.cc: runtime_options::timer_slack lets sleeps that end within it share a wake-up,
// as long as no thread works. None is short, and a busy runtime is as exact as without it.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr int rounds = 5;

// How late each of ten sleeps of 10, 20 … 100 ms ends.
std::vector<nanoseconds> lateness_of_ten(runtime& rt) {
    return rt.run([] {
        std::vector<nanoseconds> late(10);
        scope([&](task_scope& all) {
            for (int i = 0; i < 10; ++i) {
                all.go([&late, i] {
                    const auto asked = (i + 1) * 10ms;
                    const auto begin = steady_clock::now();
                    sleep_for(asked);
                    late[static_cast<std::size_t>(i)] = steady_clock::now() - begin - asked;
                });
            }
        });
        return late;
    });
}

TEST(TimerSlack, SleepsWithinItEndTogether) {
    runtime rt({.procs = 1, .timer_slack = 500ms});
    int shared = 0;
    for (int i = 0; i < rounds; ++i) {
        const std::vector<nanoseconds> late = lateness_of_ten(rt);
        EXPECT_GE(*std::min_element(late.begin(), late.end()), 0ns);
        // The first one ends when its slack does; the last one, due 90 ms later, with it.
        if (late.front() > 450ms && late.front() - late.back() > 80ms) ++shared;
    }
    EXPECT_GT(shared, 0) << "the sleeps did not wait for each other";
}

TEST(TimerSlack, AThreadThatWorksEndsSleepsInTime) {
    runtime rt({.procs = 1, .timer_slack = 1s});
    rt.run([] {
        nanoseconds least = 1h;
        for (int i = 0; i < rounds; ++i) {
            bool over = false;
            scope([&](task_scope& all) {
                all.go([&] {
                    const auto begin = steady_clock::now();
                    sleep_for(20ms);
                    least = std::min<nanoseconds>(least, steady_clock::now() - begin);
                    over = true;
                });
                while (!over) yield();
            });
        }
        EXPECT_GE(least, 20ms);
        EXPECT_LT(least, 500ms);
    });
}

TEST(TimerSlack, EndsTheWaitsOfTimersAndDeadlinesToo) {
    runtime rt({.procs = 2, .timer_slack = 50ms});
    rt.run([] {
        const auto begin = steady_clock::now();
        timer t(10ms);
        EXPECT_TRUE(t.chan().recv().has_value());
        EXPECT_THROW(with_timeout(10ms, [] { chan<int>().recv(); }), timed_out);
        EXPECT_FALSE(chan<int>().recv_for(10ms));
        EXPECT_GE(steady_clock::now() - begin, 30ms);
    });
}

TEST(TimerSlack, EverySleepEndsWhereManyWakeEachOther) {
    runtime rt({.procs = 4, .timer_slack = 1ms});
    rt.run([] {
        scope([&](task_scope& all) {
            for (int i = 0; i < 50; ++i) {
                all.go([i] {
                    for (int k = 0; k < 50; ++k) sleep_for(std::chrono::microseconds(100 + 37 * i));
                });
            }
        });
    });
}

}  // namespace
}  // namespace weft::test
