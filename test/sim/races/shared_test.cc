// shared_test.cc: races on sim::shared are found, and nothing else is taken for one.
#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include <weft/sim/shared.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

namespace weft {
namespace {

using sim::verdict;

template <typename F>
void expect_no_race(F body) {
    const sim::report r = sim::explore({.schedules = 2000}, body);
    EXPECT_EQ(r.result, verdict::passed) << r.text();
}

TEST(Shared, ARaceIsFoundInTheFirstSchedule) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        sim::shared<int> x(0);
        wait_group both;
        both.go([&] { x = 1; });
        both.go([&] { x = 2; });
        both.wait();
    });
    EXPECT_EQ(r.result, verdict::race);
    EXPECT_NE(r.reason.find("writes at"), std::string::npos) << r.reason;
    EXPECT_NE(r.reason.find("shared_test.cc:"), std::string::npos) << r.reason;
}

TEST(Shared, TheEndOfARuntimeComesAfterWhatItsGreenThreadsDid) {
    expect_no_race([] {
        sim::shared<int> x(0);
        {
            runtime rt;
            rt.go([&] { x = 1; });
            while (rt.stats().live != 0) yield();
        }
        x = 2;
        runtime other;
        for (int i = 0; i < 2; ++i) {
            other.go([&] { x = 3; });
            other.drain();
        }
        x = 4;
    });
}

TEST(Shared, GreenThreadsOfOneRuntimeRace) {
    const sim::report r = sim::explore({}, [] {
        sim::shared<int> x(0);
        runtime rt;
        for (int i = 0; i < 2; ++i) rt.go([&] { x = 1; });
        rt.drain();
    });
    EXPECT_EQ(r.result, verdict::race);
}

TEST(Shared, AReadBesideAWriteIsARace) {
    const sim::report r = sim::explore({}, [] {
        sim::shared<std::map<std::string, int>> all;
        wait_group one;
        one.go([&] { all.write([](auto& m) { m["a"] = 1; }); });
        static_cast<void>(all.read([](const auto& m) { return m.size(); }));
        one.wait();
    });
    EXPECT_EQ(r.result, verdict::race);
}

TEST(Shared, ADoubleCheckedFlagIsARace) {
    const sim::report r = sim::explore({}, [] {
        sim::shared<bool> is_made(false);
        sim::shared<int> made(0);
        mutex m;
        const auto get = [&] {
            if (!is_made) {
                const std::lock_guard held(m);
                if (!is_made) {
                    made = 1;
                    is_made = true;
                }
            }
            return made.load();
        };
        wait_group both;
        both.go([&] { static_cast<void>(get()); });
        both.go([&] { static_cast<void>(get()); });
        both.wait();
    });
    EXPECT_EQ(r.result, verdict::race);
}

TEST(Shared, ReadersDoNotRace) {
    expect_no_race([] {
        const sim::shared<int> x(1);
        wait_group both;
        both.go([&] { static_cast<void>(x.load()); });
        both.go([&] { static_cast<void>(x.load()); });
        both.wait();
    });
}

TEST(Shared, StartAndJoinOrder) {
    expect_no_race([] {
        sim::shared<int> x(0);
        x = 1;
        wait_group one;
        one.go([&] { x = x + 1; });
        one.wait();
        EXPECT_EQ(x, 2);
    });
}

TEST(Shared, ALockOrders) {
    expect_no_race([] {
        sim::shared<int> x(0);
        mutex m;
        wait_group both;
        for (int i = 0; i < 2; ++i) {
            both.go([&] {
                const std::lock_guard held(m);
                x = x + 1;
            });
        }
        both.wait();
        EXPECT_EQ(x, 2);
    });
}

TEST(Shared, AMessageOrders) {
    for (const std::size_t capacity : {0, 1}) {
        expect_no_race([capacity] {
            sim::shared<int> x(0);
            const chan<int> c(capacity);
            wait_group one;
            one.go([&] {
                x = 1;
                c.send(0);
            });
            static_cast<void>(c.recv());
            EXPECT_EQ(x, 1);
            one.wait();
        });
    }
}

TEST(Shared, AnEventAndAFutureOrder) {
    expect_no_race([] {
        sim::shared<int> x(0);
        event set;
        wait_group one;
        one.go([&] {
            x = 1;
            set.set();
        });
        set.wait();
        EXPECT_EQ(x, 1);
        one.wait();
        future<void> later = async([&] { x = 2; });
        later.get();
        EXPECT_EQ(x, 2);
    });
}

TEST(Shared, ASelectThatNeedNotWaitOrders) {
    expect_no_race([] {
        sim::shared<int> x(0);
        const chan<int> done(1);
        go([&] {
            x = 1;
            static_cast<void>(select(send_case(done, 1)));
        });
        sleep_for(std::chrono::milliseconds(1));
        done.recv();
        EXPECT_EQ(x.load(), 1);
    });
}

TEST(Shared, AWaitOnAConditionVariableUnlocks) {
    expect_no_race([] {
        sim::shared<int> x(0);
        mutex m;
        condition_variable never;
        wait_group one;
        one.go([&] {
            std::unique_lock held(m);
            x = 1;
            never.wait_for(held, std::chrono::seconds(1));
        });
        sleep_for(std::chrono::milliseconds(1));
        {
            const std::lock_guard held(m);
            x = 2;
        }
        one.wait();
    });
}

TEST(Shared, AJoinThatNeedNotWaitOrders) {
    expect_no_race([] {
        sim::shared<int> x(0);
        wait_group one;
        one.go([&] { x = 1; });
        sleep_for(std::chrono::milliseconds(1));
        one.wait();
        x = 2;
    });
}

TEST(Shared, ATimeOrdersNothing) {
    const sim::report r = sim::explore({}, [] {
        using namespace std::chrono_literals;
        sim::shared<int> x(0);
        wait_group one;
        one.go([&] { x = 1; });
        sleep_for(1s);
        x = 2;
        one.wait();
    });
    EXPECT_EQ(r.result, verdict::race);
}

TEST(Shared, IsAValueOutsideOfSimulations) {
    sim::shared<int> x(1);
    x = x + 1;
    sim::shared<int> y = x;
    y.store(y.load() + 1);
    EXPECT_EQ(x, 2);
    EXPECT_EQ(y, 3);
}

}  // namespace
}  // namespace weft
