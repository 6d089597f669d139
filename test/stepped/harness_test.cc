// harness_test.cc: the orders of stepped.h find what is wrong, and nothing else.
#include <gtest/gtest.h>

#include <weft/detail/atomic.h>
#include <weft/detail/wait.h>

#include "os/os.h"
#include "stepped.h"

namespace {

using weft::detail::atomic;
using weft::detail::never;
namespace os = weft::detail::os;

TEST(Stepped, FindsALostUpdate) {
    const stepped::result r = stepped::explore([] {
        atomic<int> n{0};
        {
            stepped::thread a([&] { n.store(n.load() + 1); });
            stepped::thread b([&] { n.store(n.load() + 1); });
        }
        EXPECT_EQ(n.load(), 2);
    });
    EXPECT_NE(r.failing_seed, 0U);
    EXPECT_NE(r.report.find("Expected equality"), std::string::npos) << r.report;
}

TEST(Stepped, FindsNothingInACorrectCounter) {
    const stepped::result r = stepped::explore([] {
        atomic<int> n{0};
        {
            stepped::thread a([&] { n.fetch_add(1); });
            stepped::thread b([&] { n.fetch_add(1); });
        }
        EXPECT_EQ(n.load(), 2);
    });
    EXPECT_EQ(r.failing_seed, 0U) << r.report;
    EXPECT_GT(r.schedules, 1U);
}

// The waiter announces itself after it has looked: a wake-up in between is lost.
TEST(Stepped, FindsALostWakeUp) {
    const stepped::result r = stepped::explore([] {
        atomic<uint32_t> ready{0};
        atomic<uint32_t> sleeps{0};
        atomic<uint32_t> word{0};
        stepped::thread waiter([&] {
            if (ready.load() != 0) return;
            sleeps.store(1);
            while (word.load() == 0) os::futex_wait(word, 0, never);
        });
        ready.store(1);
        if (sleeps.load() != 0) {
            word.store(1);
            os::futex_wake_one(word);
        }
    });
    EXPECT_NE(r.failing_seed, 0U);
    EXPECT_NE(r.report.find("all threads wait"), std::string::npos) << r.report;
}

TEST(Stepped, PassesIfTheWaiterLooksAgain) {
    const stepped::result r = stepped::explore([] {
        atomic<uint32_t> ready{0};
        atomic<uint32_t> sleeps{0};
        atomic<uint32_t> word{0};
        stepped::thread waiter([&] {
            sleeps.store(1);
            if (ready.load() != 0) return;
            while (word.load() == 0) os::futex_wait(word, 0, never);
        });
        ready.store(1);
        if (sleeps.load() != 0) {
            word.store(1);
            os::futex_wake_one(word);
        }
    });
    EXPECT_EQ(r.failing_seed, 0U) << r.report;
}

TEST(Stepped, TimeIsVirtual) {
    const stepped::result r = stepped::explore({.schedules = 20}, [] {
        const int64_t before = stepped::now_ns();
        os::sleep_ns(50'000'000'000);
        EXPECT_EQ(stepped::now_ns() / 1'000'000'000, before / 1'000'000'000 + 50);
        atomic<uint32_t> word{0};
        while (os::futex_wait(word, 0, stepped::now_ns() + 1'000'000'000)) {}
    });
    EXPECT_EQ(r.failing_seed, 0U) << r.report;
}

TEST(Stepped, ASeedGivesTheSameSchedule) {
    const auto body = [] {
        atomic<int> n{0};
        {
            stepped::thread a([&] {
                for (int i = 0; i != 50; ++i) n.store(n.load() + 1);
            });
            stepped::thread b([&] {
                for (int i = 0; i != 50; ++i) n.store(n.load() + 1);
            });
        }
        EXPECT_EQ(n.load(), 0);
    };
    const stepped::result first = stepped::explore({.schedules = 1}, body);
    const stepped::result second = stepped::explore({.schedules = 1}, body);
    EXPECT_EQ(first.failing_seed, 1U);
    EXPECT_EQ(first.report, second.report);
}

}  // namespace
