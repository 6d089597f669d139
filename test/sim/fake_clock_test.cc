// fake_clock_test.cc: the clock of simulations, by the properties of Go's testing/synctest.
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "sim/check.h"

namespace weft {
namespace {

using test::check;

using namespace std::chrono_literals;
using sim::verdict;
using clock = std::chrono::steady_clock;

// The clock moves only while all wait.
sim::report explore_by_the_clock(const std::function<void()>& body, uint64_t schedules = 300) {
    return sim::explore({.schedules = schedules, .lateness = 0ns}, body);
}

void passes_by_the_clock(const std::function<void()>& body) {
    const sim::report r = explore_by_the_clock(body);
    EXPECT_TRUE(r) << r.text();
}

TEST(FakeClock, BeginsIn2000AndMovesByWhatIsSlept) {
    passes_by_the_clock([] {
        using namespace std::chrono;
        check(system_clock::now() == sys_days(January / 1 / 2000), "another begin");
        const clock::time_point begin = clock::now();
        sleep_for(90s);
        check(clock::now() - begin == 90s, "another duration");
        check(system_clock::now() == sys_days(January / 1 / 2000) + 90s, "another date");
    });
}

TEST(FakeClock, ASleepEndsWhenAllOthersWait) {
    passes_by_the_clock([] {
        int steps = 0;
        const chan<int> begin;
        const chan<int> end;
        go([&] {
            ++steps;
            static_cast<void>(begin.recv());
            for (int i = 0; i < 5; ++i) {
                ++steps;
                checkpoint();
            }
            static_cast<void>(end.recv());
        });
        sleep_for(1ns);
        check(steps == 1, "the sleep ended too early");
        begin.send(1);
        sleep_for(1ns);
        check(steps == 6, "the sleep ended too early");
        end.close();
    });
}

TEST(FakeClock, ATimerIsReadBeforeAndAtItsDeadline) {
    passes_by_the_clock([] {
        const clock::time_point begin = clock::now();
        timer t(1h);
        check(t.chan().recv_for(30min).status == chan_status::timed_out, "too early");
        check(clock::now() - begin == 30min, "another time");
        static_cast<void>(t.chan().recv());
        check(clock::now() - begin == 1h, "late");
    });
}

TEST(FakeClock, EqualDeadlinesEndInAnyOrder) {
    std::set<std::string> sleepers;
    std::set<std::string> timers;
    passes_by_the_clock([&] {
        std::string order;
        wait_group both;
        for (const char name : {'a', 'b'}) {
            both.go([&order, name] {
                sleep_for(1s);
                order += name;
            });
        }
        both.wait();
        sleepers.insert(order);
        order.clear();
        const timer a = after_func(1s, [&] { order += 'a'; });
        const timer b = after_func(1s, [&] { order += 'b'; });
        sleep_for(2s);
        timers.insert(order);
    });
    EXPECT_EQ(sleepers, (std::set<std::string>{"ab", "ba"}));
    EXPECT_EQ(timers, (std::set<std::string>{"ab", "ba"}));
}

TEST(FakeClock, ZeroAndNegativeDelaysTakeNoTime) {
    passes_by_the_clock([] {
        const clock::time_point begin = clock::now();
        for (const auto delay : {0s, -1s}) {
            sleep_for(delay);
            timer t(delay);
            static_cast<void>(t.chan().recv());
            bool called = false;
            const timer later = after_func(delay, [&] { called = true; });
            sleep_for(1ns);
            check(called, "not called");
        }
        check(clock::now() - begin == 2ns, "took time");
    });
}

TEST(FakeClock, ATimerThatIsAlwaysDueDoesNotStopTheClock) {
    passes_by_the_clock([] {
        int calls = 0;
        timer again;
        again = after_func(0s, [&] {
            if (++calls < 1000) again.reset(0s);
        });
        sleep_for(1ms);
        check(calls == 1000, "not all calls");
    });
}

TEST(FakeClock, DeadlocksAreReported) {
    const auto result = [](const std::function<void()>& body) { return explore_by_the_clock(body, 10).result; };
    EXPECT_EQ(result([] { static_cast<void>(chan<int>().recv()); }), verdict::deadlock);
    EXPECT_EQ(result([] {
                  wait_group one;
                  one.go([] { static_cast<void>(chan<int>().recv()); });
                  one.wait();
              }),
              verdict::deadlock);
    EXPECT_EQ(result([] { go([] { static_cast<void>(chan<int>().recv()); }); }), verdict::leaked);
    EXPECT_EQ(result([] {
                  const ticker forever(1s);
                  static_cast<void>(chan<int>().recv());
              }),
              verdict::deadlock);
}

TEST(FakeClock, WaitingForAConditionIsWaiting) {
    passes_by_the_clock([] {
        mutex m;
        condition_variable changed;
        bool set = false;
        wait_group one;
        one.go([&] {
            std::unique_lock held(m);
            while (!set) changed.wait(held);
        });
        sleep_for(1h);
        {
            const std::lock_guard held(m);
            set = true;
        }
        changed.notify_one();
        one.wait();
    });
}

TEST(FakeClock, ObjectsFromOutsideMayBeUsed) {
    const chan<int> values(1);
    wait_group group;
    passes_by_the_clock([&] {
        group.go([&] { values.send(1); });
        check(values.recv() == 1, "another value");
        group.wait();
    });
}

}  // namespace
}  // namespace weft
