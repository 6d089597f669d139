// lock_order_test.cc: locks taken in orders that can deadlock are reported, and nothing else is.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>

#include <gtest/gtest.h>

#include <weft/sim/sim.h>
#include <weft/weft.h>

namespace weft {
namespace {

using namespace std::chrono_literals;
using sim::verdict;

// Runs nothing else between the operations of a green thread, so that nothing deadlocks.
sim::report run_in_order(const std::function<void()>& body) {
    return sim::explore({.schedules = 3, .pick = sim::strategy::exhaustive, .preemptions = 0}, body);
}

template <typename F>
void expect_inversion(F body) {
    const sim::report r = run_in_order(body);
    EXPECT_EQ(r.result, verdict::lock_order) << r.text();
}

template <typename F>
void expect_none(F body) {
    for (const uint64_t schedules : {1, 300}) {
        const sim::report r = sim::explore({.schedules = schedules}, body);
        EXPECT_EQ(r.result, verdict::passed) << r.text();
    }
}

template <typename First, typename Second>
void both(First first, Second second) {
    wait_group all;
    all.go(first);
    all.go(second);
    all.wait();
}

template <typename Outer, typename Inner>
void nest(Outer& outer, Inner& inner) {
    const std::lock_guard first(outer);
    const std::lock_guard second(inner);
}

// Runs its second argument on the first one, then on the second, in this order.
void one_after_the_other(const std::function<void()>& first, const std::function<void()>& second) {
    wait_group one;
    one.go(first);
    one.wait();
    wait_group other;
    other.go(second);
    other.wait();
}

TEST(LockOrder, TwoOrdersAreAnInversionInAScheduleThatEndsWell) {
    expect_inversion([] {
        mutex a;
        mutex b;
        both([&] { nest(a, b); }, [&] { nest(b, a); });
    });
}

TEST(LockOrder, OneOrderIsNone) {
    expect_none([] {
        mutex a;
        mutex b;
        both([&] { nest(a, b); }, [&] { nest(a, b); });
    });
}

TEST(LockOrder, EachKindOfLockCounts) {
    expect_inversion([] {
        timed_mutex a;
        shared_mutex b;
        both([&] { nest(a, b); }, [&] { nest(b, a); });
    });
    expect_inversion([] {
        recursive_mutex a;
        recursive_timed_mutex b;
        both([&] { nest(a, b); }, [&] { nest(b, a); });
    });
    expect_inversion([] {
        shared_timed_mutex a;
        mutex b;
        both([&] { nest(a, b); }, [&] { nest(b, a); });
    });
}

TEST(LockOrder, ACycleOfThreeIsFound) {
    expect_inversion([] {
        mutex a;
        mutex b;
        mutex c;
        wait_group all;
        all.go([&] { nest(a, b); });
        all.go([&] { nest(b, c); });
        all.go([&] { nest(c, a); });
        all.wait();
    });
}

TEST(LockOrder, AScheduleThatDeadlocksIsReportedFirst) {
    const sim::report r = sim::explore({}, [] {
        auto* const a = new mutex;  // stays locked
        auto* const b = new mutex;
        both([=] { nest(*a, *b); }, [=] { nest(*b, *a); });
        delete a;
        delete b;
    });
    EXPECT_EQ(r.result, verdict::deadlock) << r.text();
}

TEST(LockOrder, AGateLockPreventsIt) {
    expect_none([] {
        mutex gate;
        mutex a;
        mutex b;
        const auto through = [&gate](mutex& outer, mutex& inner) {
            const std::lock_guard held(gate);
            nest(outer, inner);
        };
        both([&] { through(a, b); }, [&] { through(b, a); });
    });
}

TEST(LockOrder, TwoReadersOfAGateAreNotKeptApart) {
    expect_inversion([] {
        shared_mutex gate;
        mutex a;
        mutex b;
        const auto through = [&gate](mutex& outer, mutex& inner) {
            const std::shared_lock held(gate);
            nest(outer, inner);
        };
        both([&] { through(a, b); }, [&] { through(b, a); });
    });
}

TEST(LockOrder, AGateOfOneOfThemIsNone) {
    expect_inversion([] {
        mutex gate;
        mutex a;
        mutex b;
        both(
            [&] {
                const std::lock_guard held(gate);
                nest(a, b);
            },
            [&] { nest(b, a); });
    });
}

TEST(LockOrder, OneGreenThreadAloneMayUseBothOrders) {
    expect_none([] {
        mutex a;
        mutex b;
        nest(a, b);
        nest(b, a);
    });
}

TEST(LockOrder, ATryDoesNotWait) {
    expect_none([] {
        mutex a;
        mutex b;
        const auto try_second = [](mutex& outer, mutex& inner) {
            const std::lock_guard held(outer);
            if (inner.try_lock()) inner.unlock();
        };
        both([&] { nest(a, b); }, [&] { try_second(b, a); });
    });
    expect_none([] {
        timed_mutex a;
        mutex b;
        both([&] { nest(a, b); },
             [&] {
                 const std::lock_guard held(b);
                 if (a.try_lock_for(1s)) a.unlock();
             });
    });
    expect_none([] {
        mutex a;
        mutex b;
        both([&] { const std::scoped_lock held(a, b); }, [&] { const std::scoped_lock held(b, a); });
    });
}

TEST(LockOrder, WhatATryHasTakenIsHeld) {
    expect_inversion([] {
        mutex a;
        mutex b;
        both([&] { nest(a, b); },
             [&] {
                 if (!b.try_lock()) return;
                 a.lock();
                 a.unlock();
                 b.unlock();
             });
    });
}

TEST(LockOrder, WhatATryHasNotTakenIsNotHeld) {
    expect_none([] {
        mutex a;
        mutex b;
        mutex c;
        std::optional<std::unique_lock<mutex>> held(std::in_place, b);
        wait_group one;
        one.go([&] {
            EXPECT_FALSE(b.try_lock());
            nest(a, c);
        });
        one.wait();
        held.reset();
        both([&] { nest(a, b); }, [&] { nest(a, b); });
    });
}

TEST(LockOrder, AJoinBetweenTheTwoPreventsIt) {
    expect_none([] {
        mutex a;
        mutex b;
        one_after_the_other([&] { nest(a, b); }, [&] { nest(b, a); });
    });
}

TEST(LockOrder, AMessageBetweenTheTwoPreventsIt) {
    expect_none([] {
        mutex a;
        mutex b;
        chan<int> done(0);
        both(
            [&] {
                nest(a, b);
                done.send(1);
            },
            [&] {
                static_cast<void>(done.recv());
                nest(b, a);
            });
    });
}

TEST(LockOrder, AWaitOnAConditionVariableReleasesItsLock) {
    // The first one holds m and then x, but not both: while it waits, m is free.
    expect_none([] {
        mutex m;
        mutex x;
        condition_variable ready;
        bool is_ready = false;
        wait_group all;
        all.go([&] {
            {
                std::unique_lock held(m);
                while (!is_ready) ready.wait(held);
            }
            const std::lock_guard alone(x);
        });
        all.go([&] {
            const std::lock_guard held(m);
            is_ready = true;
            ready.notify_one();
        });
        all.go([&] { nest(x, m); });
        all.wait();
    });
}

TEST(LockOrder, AfterAWaitOnAConditionVariableLocksAreNoGate) {
    expect_inversion([] {
        mutex m;
        mutex a;
        mutex b;
        condition_variable never;
        const auto waits = [&] {
            std::unique_lock held(m);
            never.wait_for(held, 1ms);
        };
        both([&] { waits(), nest(a, b); }, [&] { waits(), nest(b, a); });
    });
}

TEST(LockOrder, AWaitOnAConditionVariableLocksAgain) {
    // It holds x meanwhile, and then wants m: with x inside m that can deadlock.
    const sim::report r = sim::explore({.schedules = 1}, [] {
        mutex m;
        mutex x;
        condition_variable never;
        wait_group one;
        one.go([&] {
            std::unique_lock held(m);
            const std::lock_guard inner(x);
            never.wait_for(held, 1ms);
        });
        sleep_for(10ms);
        nest(m, x);
        one.wait();
    });
    EXPECT_EQ(r.result, verdict::lock_order) << r.text();
}

TEST(LockOrder, ConditionVariableAnyHasNoOrderOfItsOwn) {
    expect_none([] {
        mutex m;
        condition_variable_any ready;
        bool is_ready = false;
        wait_group all;
        all.go([&] {
            std::unique_lock held(m);
            while (!is_ready) ready.wait(held);
        });
        {
            const std::lock_guard held(m);
            is_ready = true;
            ready.notify_one();
        }
        {
            const std::lock_guard held(m);
            ready.notify_one();
        }
        all.wait();
    });
}

TEST(LockOrder, ATryOnALockThatItHoldsFails) {
    expect_none([] {
        mutex m;
        mutex x;
        both(
            [&] {
                m.lock();
                EXPECT_FALSE(m.try_lock());
                m.unlock();
                const std::lock_guard alone(x);
            },
            [&] { nest(x, m); });
    });
}

TEST(LockOrder, AJoinThatNeedNotWaitPreventsIt) {
    expect_none([] {
        mutex a;
        mutex b;
        wait_group one;
        one.go([&] { nest(a, b); });
        sleep_for(1ms);
        one.wait();
        nest(b, a);
    });
}

TEST(LockOrder, AStartPreventsIt) {
    expect_none([] {
        mutex a;
        mutex b;
        const chan<int> done;
        nest(a, b);
        go([&] {
            nest(b, a);
            done.send(1);
        });
        done.recv();
    });
}

TEST(LockOrder, ASelectBetweenTheTwoPreventsIt) {
    expect_none([] {
        mutex a;
        mutex b;
        const chan<int> first(1);
        both(
            [&] {
                nest(a, b);
                static_cast<void>(select(send_case(first, 1)));
            },
            [&] {
                sleep_for(1ms);
                first.recv();
                nest(b, a);
            });
    });
}

TEST(LockOrder, ALockBetweenTheTwoDoesNot) {
    expect_inversion([] {
        mutex a;
        mutex b;
        mutex other;
        const auto nest_and_lock = [&other](mutex& outer, mutex& inner) {
            nest(outer, inner);
            const std::lock_guard held(other);
        };
        both([&] { nest_and_lock(a, b); }, [&] { nest_and_lock(b, a); });
    });
}

TEST(LockOrder, ReadersDoNotWaitForReaders) {
    expect_none([] {
        shared_mutex a;
        shared_mutex b;
        const auto read = [](shared_mutex& outer, shared_mutex& inner) {
            const std::shared_lock first(outer);
            const std::shared_lock second(inner);
        };
        both([&] { read(a, b); }, [&] { read(b, a); });
    });
    expect_inversion([] {
        shared_mutex a;
        mutex b;
        both(
            [&] {
                const std::shared_lock first(a);
                const std::lock_guard second(b);
            },
            [&] { nest(b, a); });
    });
}

// The memory of a lock that has ended is used again.
TEST(LockOrder, ALockAtTheAddressOfAnotherIsAnotherOne) {
    expect_none([] {
        mutex global;
        std::optional<mutex> one(std::in_place);
        both(
            [&] {
                nest(*one, global);
                one.emplace();
            },
            [&] {
                if (!one) return;
                const std::lock_guard held(global);
            });
        mutex gate;
        alignas(mutex) std::byte memory[sizeof(mutex)];
        both(
            [&] {
                const std::lock_guard alone(gate);
                auto* mine = new (memory) mutex;
                nest(*mine, global);
                mine->~mutex();
            },
            [&] {
                gate.lock();
                gate.unlock();
            });
    });
}

TEST(LockOrder, TwoLocksOneAfterTheOtherAtOneAddressAreNoCycle) {
    alignas(mutex) std::byte memory[sizeof(mutex)];
    const sim::report r = run_in_order([&memory] {
        mutex global;
        both(
            [&] {
                auto* mine = new (memory) mutex;
                nest(*mine, global);
                mine->~mutex();
            },
            [&] {
                auto* mine = new (memory) mutex;
                nest(global, *mine);
                mine->~mutex();
            });
    });
    EXPECT_EQ(r.result, verdict::passed) << r.text();
}

TEST(LockOrder, AnotherGreenThreadMayUnlock) {
    expect_none([] {
        mutex a;
        mutex b;
        wait_group one;
        a.lock();
        one.go([&] { a.unlock(); });
        one.wait();
        both([&] { nest(b, a); }, [&] { nest(b, a); });
        nest(b, a);
    });
}

TEST(LockOrder, CanBeSwitchedOff) {
    const auto body = [] {
        mutex a;
        mutex b;
        both([&] { nest(a, b); }, [&] { nest(b, a); });
    };
    const sim::options off{.schedules = 3, .pick = sim::strategy::exhaustive, .preemptions = 0, .lock_order = false};
    EXPECT_EQ(sim::explore(off, body).result, verdict::passed);
}

TEST(LockOrder, TheReportNamesTheGreenThreadsAndLocksAndCanBeRepeated) {
    const auto body = [] {
        mutex a;
        mutex b;
        both(
            [&] {
                this_g::set_name("anna");
                nest(a, b);
            },
            [&] {
                this_g::set_name("otto");
                nest(b, a);
            });
    };
    const sim::report r = run_in_order(body);
    ASSERT_EQ(r.result, verdict::lock_order);
    EXPECT_EQ(r.schedules, 1U);
    EXPECT_NE(r.reason.find("anna holds #"), std::string::npos) << r.reason;
    EXPECT_NE(r.reason.find("; otto holds #"), std::string::npos) << r.reason;
    EXPECT_NE(r.text().find("lock-order inversion in schedule 1"), std::string::npos) << r.text();
    const sim::report again = sim::replay(r.schedule, {}, body);
    EXPECT_EQ(again.result, verdict::lock_order);
    EXPECT_EQ(again.reason, r.reason);
    EXPECT_EQ(again.steps_text, r.steps_text);
}

}  // namespace
}  // namespace weft
