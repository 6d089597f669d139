// sim_test.cc: what a simulation finds, how it repeats it, and how short it makes it.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/sim/gtest.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "support/leaks.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using sim::strategy;
using sim::verdict;

constexpr strategy random_strategies[] = {strategy::portfolio,     strategy::random_walk,  strategy::pct,
                                          strategy::partial_order, strategy::uniform_walk, strategy::delay_bounded};

// Two green threads add 1 to a number, and lose an addition if one is preempted between its locks.
void lose_an_update() {
    int x = 0;
    mutex m;
    wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] {
            m.lock();
            const int seen = x;
            m.unlock();
            m.lock();
            x = seen + 1;
            m.unlock();
        });
    }
    both.wait();
    if (x != 2) throw std::runtime_error("an update was lost");
}

struct two_locks {
    mutex first;
    mutex second;
    wait_group both;
};

// The objects are never destroyed, because they stay locked.
void lock_in_two_orders() {
    test::leak_on_purpose();
    auto& all = *new two_locks;
    all.both.go([&all] {
        const std::lock_guard outer(all.first);
        const std::lock_guard inner(all.second);
    });
    all.both.go([&all] {
        const std::lock_guard outer(all.second);
        const std::lock_guard inner(all.first);
    });
    all.both.wait();
}

TEST(Simulation, FindsALostUpdateByEachStrategy) {
    for (const strategy s : random_strategies) {
        const sim::report r = sim::explore({.pick = s}, lose_an_update);
        EXPECT_EQ(r.result, verdict::failed) << static_cast<int>(s);
        EXPECT_NE(r.reason.find("an update was lost"), std::string::npos) << r.reason;
    }
    const sim::report r = sim::explore({.schedules = 100'000, .pick = strategy::exhaustive}, lose_an_update);
    EXPECT_EQ(r.result, verdict::failed);
}

TEST(Simulation, FindsADeadlock) {
    const sim::report r = sim::explore({}, lock_in_two_orders);
    EXPECT_EQ(r.result, verdict::deadlock);
    EXPECT_LE(r.choices, 4U) << r.text();
    EXPECT_NE(r.text().find("WEFT_SIM=" + r.schedule), std::string::npos) << r.text();
}

TEST(Simulation, FindsALeak) {
    test::leak_on_purpose();
    const sim::report r = sim::explore({}, [] {
        const chan<int> c;
        go([c] { (void)c.recv(); });
    });
    EXPECT_EQ(r.result, verdict::leaked) << r.text();
}

// Readers that never all leave: the writer waits as long as they like.
TEST(Simulation, FindsAGreenThreadThatStarves) {
    const auto body = [] {
        mutex m;
        condition_variable empty;
        int readers = 0;
        wait_group all;
        all.add(3);
        for (int k = 0; k < 2; ++k) {
            go([&] {
                for (int i = 0; i < 20; ++i) {
                    m.lock();
                    ++readers;
                    m.unlock();
                    yield();
                    m.lock();
                    if (--readers == 0) empty.notify_one();
                    m.unlock();
                }
                all.done();
            });
        }
        go([&] {
            {
                std::unique_lock lock(m);
                empty.wait(lock, [&] { return readers == 0; });
            }
            all.done();
        });
        all.wait();
    };
    EXPECT_TRUE(sim::explore({}, body));
    const sim::options with{.longest_wait = 60};
    const sim::report r = sim::explore(with, body);
    EXPECT_EQ(r.result, verdict::starved) << r.text();
    EXPECT_NE(r.reason.find("more than 60 steps"), std::string::npos) << r.reason;
    EXPECT_EQ(sim::replay(r.schedule, with, body).result, verdict::starved);
}

// A channel serves receivers in the order in which they came; to join others is not to starve.
TEST(Simulation, NobodyStarvesAtAChannel) {
    const sim::report r = sim::explore({.longest_wait = 60}, [] {
        chan<int> c;
        wait_group all;
        all.add(3);
        for (int k = 0; k < 3; ++k) {
            go([&] {
                for (int i = 0; i < 10; ++i) static_cast<void>(c.recv());
                all.done();
            });
        }
        for (int i = 0; i < 30; ++i) c.send(i);
        all.wait();
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(Simulation, AFuzzerChoosesTheSchedule) {
    EXPECT_TRUE(sim::explore_input({}, {}, lose_an_update));
    bool found = false;
    for (unsigned char at = 0; at < 12 && !found; ++at) {
        const unsigned char input[] = {at, 0};
        const sim::report r = sim::explore_input(input, {}, lose_an_update);
        EXPECT_EQ(r.schedules, 1U);
        found = r.result == verdict::failed;
        if (found) {
            EXPECT_EQ(sim::replay(r.schedule, {}, lose_an_update).result, verdict::failed);
        }
    }
    EXPECT_TRUE(found);
    const unsigned char half[] = {3};
    EXPECT_TRUE(sim::explore_input(half, {}, lose_an_update));
}

// Its schedules differ from the default one in at most `depth` places.
TEST(Simulation, DelaysAreBounded) {
    const sim::report r = sim::explore({.pick = strategy::delay_bounded, .depth = 1, .shrink = false}, lose_an_update);
    EXPECT_EQ(r.result, verdict::failed);
    EXPECT_EQ(r.choices, 1U);
}

TEST(Simulation, FindsALivelock) {
    const sim::report r = sim::explore({.max_steps = 1000}, [] {
        for (;;) yield();
    });
    EXPECT_EQ(r.result, verdict::livelock);
}

TEST(Simulation, PassesWhatIsCorrect) {
    for (const strategy s : random_strategies) {
        const sim::report r = sim::explore({.schedules = 2000, .pick = s}, [] {
            int x = 0;
            mutex m;
            wait_group all;
            for (int i = 0; i < 3; ++i) {
                all.go([&] {
                    const std::lock_guard held(m);
                    ++x;
                });
            }
            all.wait();
            if (x != 3) throw std::runtime_error("lost");
        });
        EXPECT_EQ(r.result, verdict::passed) << r.text();
        EXPECT_EQ(r.schedules, 2000U);
        EXPECT_GT(r.steps, 2000U * 10);
    }
}

TEST(Simulation, TriesEverythingWithinABound) {
    std::set<std::string> orders;
    std::string order;
    const auto body = [&] {
        if (!order.empty()) orders.insert(order);
        order.clear();
        wait_group all;
        for (const char name : {'a', 'b', 'c'}) {
            all.go([&order, name] {
                order += name;
                checkpoint();
                order += name;
            });
        }
        all.wait();
    };
    const sim::report none =
        sim::explore({.schedules = 1'000'000, .pick = strategy::exhaustive, .preemptions = 0}, body);
    EXPECT_TRUE(none.exhausted);
    orders.insert(order);
    EXPECT_EQ(orders.size(), 6U);  // 3!
    order.clear();
    orders.clear();
    const sim::report all =
        sim::explore({.schedules = 1'000'000, .pick = strategy::exhaustive, .preemptions = 5}, body);
    EXPECT_TRUE(all.exhausted) << all.text();
    orders.insert(order);
    EXPECT_EQ(orders.size(), 90U);  // 6! / (2! 2! 2!)
}

TEST(Simulation, RepeatsAFailureExactly) {
    for (const strategy s : random_strategies) {
        const sim::report found = sim::explore({.pick = s, .shrink = false}, lose_an_update);
        ASSERT_EQ(found.result, verdict::failed);
        for (int i = 0; i < 100; ++i) {
            const sim::report again = sim::replay(found.schedule, {}, lose_an_update);
            ASSERT_EQ(again.result, found.result);
            ASSERT_EQ(again.steps_text, found.steps_text);
        }
    }
}

TEST(Simulation, ASeedGivesTheSameSchedules) {
    const sim::report one = sim::explore({.seed = 7, .shrink = false}, lose_an_update);
    const sim::report two = sim::explore({.seed = 7, .shrink = false}, lose_an_update);
    EXPECT_EQ(one.schedule, two.schedule);
    EXPECT_EQ(one.schedules, two.schedules);
}

TEST(Simulation, NoticesATestThatIsNotRepeatable) {
    int runs = 0;
    const sim::report r = sim::check_repeatable({.schedules = 10}, [&] {
        mutex m;
        if (++runs == 13) m.lock();
        wait_group one;
        one.go([] {});
        one.wait();
        if (runs == 13) m.unlock();
    });
    EXPECT_EQ(r.result, verdict::unrepeatable) << r.text();
    EXPECT_NE(r.reason.find("of the second: green thread 1 locks mutex #1"), std::string::npos) << r.reason;
    EXPECT_TRUE(sim::check_repeatable({.schedules = 10}, [] { yield(); }));
}

TEST(Simulation, MakesAFailingScheduleShort) {
    const sim::report longer = sim::explore({.pick = strategy::random_walk, .shrink = false}, lose_an_update);
    const sim::report shorter = sim::explore({.pick = strategy::random_walk}, lose_an_update);
    EXPECT_LE(shorter.choices, 3U) << shorter.text();
    EXPECT_LE(shorter.choices, longer.choices);
    EXPECT_EQ(sim::replay(shorter.schedule, {}, lose_an_update).result, verdict::failed);
}

TEST(Simulation, SaysWhatWouldHaveRunByDefault) {
    const sim::report found = sim::explore({}, lose_an_update);
    std::size_t marked = 0;
    for (std::size_t at = 0; (at = found.steps_text.find("; by default: ", at)) != std::string::npos; ++at) ++marked;
    EXPECT_EQ(marked, found.choices) << found.text();
}

TEST(Simulation, ExploresAroundASchedule) {
    const sim::report found = sim::explore({}, lose_an_update);
    const sim::report first = sim::explore({.around = found.schedule}, lose_an_update);
    EXPECT_EQ(first.schedules, 1U);
    EXPECT_EQ(first.schedule, found.schedule);
    // From a schedule without deviations, it takes a few changes.
    const sim::report near = sim::explore({.around = "w1."}, lose_an_update);
    EXPECT_EQ(near.result, verdict::failed);
    EXPECT_GT(near.schedules, 1U);
    EXPECT_THROW((void)sim::explore({.around = "nonsense"}, lose_an_update), std::invalid_argument);
    ::setenv("WEFT_SIM_AROUND", found.schedule.c_str(), 1);
    const sim::report by_environment = sim::explore({}, lose_an_update);
    ::unsetenv("WEFT_SIM_AROUND");
    EXPECT_EQ(by_environment.schedules, 1U);
}

TEST(Simulation, TheEnvironmentChoosesTheSchedule) {
    const sim::report found = sim::explore({}, lose_an_update);
    ::setenv("WEFT_SIM", found.schedule.c_str(), 1);
    const sim::report again = sim::explore({}, lose_an_update);
    ::setenv("WEFT_SIM", "nonsense", 1);
    EXPECT_THROW((void)sim::explore({}, lose_an_update), std::invalid_argument);
    ::unsetenv("WEFT_SIM");
    EXPECT_EQ(again.schedules, 1U);
    EXPECT_EQ(again.steps_text, found.steps_text);
    ::setenv("WEFT_SIM_SEED", "x", 1);
    EXPECT_THROW((void)sim::explore({}, lose_an_update), std::invalid_argument);
    ::unsetenv("WEFT_SIM_SEED");
}

TEST(SimulationDeathTest, AFatalErrorSaysItsSchedule) {
    EXPECT_DEATH(static_cast<void>(sim::explore({},
                                                [] {
                                                    const chan<int> c;
                                                    wait_group both;
                                                    for (int i = 0; i < 2; ++i) {
                                                        both.go([&] {
                                                            if (!c.closed()) c.close();
                                                        });
                                                    }
                                                    both.wait();
                                                })),
                 "close of a closed weft::chan(.|\n)*to repeat it: WEFT_SIM=w1\\.[0-9]");
}

TEST(Simulation, RandomNumbersAreRepeated) {
    std::set<std::string> seen;
    const auto body = [&] {
        std::string numbers = std::to_string(std::random_device()());
        uint64_t bytes = 0;
        if (::getentropy(&bytes, sizeof(bytes)) != 0) throw std::runtime_error("getentropy");
        for (const uint64_t number : {uint64_t(::rand()), uint64_t(::random()), bytes})
            numbers += " " + std::to_string(number);
        ::srand(7);
        const int first = ::rand();
        ::srand(7);
        if (::rand() != first) throw std::runtime_error("srand");
        seen.insert(numbers);
    };
    EXPECT_TRUE(sim::explore({.schedules = 20}, body));
    EXPECT_EQ(seen.size(), 1U);
    body();  // outside of a simulation
    body();
    EXPECT_EQ(seen.size(), 3U);
}

TEST(SimulatedTime, PassesWhileAllWait) {
    const auto began = std::chrono::steady_clock::now();
    const sim::report r = sim::explore({.schedules = 10}, [] {
        for (int day = 0; day < 365; ++day) sleep_for(24h);
    });
    EXPECT_TRUE(r) << r.text();
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

TEST(SimulatedTime, EndsWaitsInTheirOrder) {
    const sim::report r = sim::explore({.lateness = 0ns}, [] {
        std::vector<int> ended;
        wait_group all;
        for (const int hours : {3, 1, 2}) {
            all.go([&ended, hours] {
                sleep_for(std::chrono::hours(hours));
                ended.push_back(hours);
            });
        }
        all.wait();
        if (ended != std::vector{1, 2, 3}) throw std::runtime_error("wrong order");
        const chan<int> never;
        if (never.recv_for(1h).status != chan_status::timed_out) throw std::runtime_error("not timed out");
        bool called = false;
        const timer later = after_func(1min, [&called] { called = true; });
        sleep_for(2min);
        if (!called) throw std::runtime_error("not called");
    });
    EXPECT_TRUE(r) << r.text();
}

// The timer is due while the sender could still run.
TEST(SimulatedTime, ALateGreenThreadMissesItsDeadline) {
    const auto body = [] {
        const chan<int> c(1);
        go([c] { c.send(1); });
        if (c.recv_for(1ms).status == chan_status::timed_out) throw std::runtime_error("timed out");
    };
    EXPECT_EQ(sim::explore({}, body).result, verdict::failed);
    EXPECT_EQ(sim::explore({.lateness = 0ns}, body).result, verdict::passed);
    EXPECT_EQ(sim::explore({.lateness = 1us}, body).result, verdict::passed);
}

TEST(SimulatedTime, MovesForOneThatYields) {
    const sim::report r = sim::explore({.schedules = 10}, [] {
        bool over = false;
        const timer later = after_func(1ms, [&over] { over = true; });
        while (!over) yield();
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(Simulation, LetsALoopEndThatWaitsWithoutSayingSo) {
    for (const strategy s : random_strategies) {
        const sim::report r = sim::explore({.schedules = 50, .pick = s, .max_steps = 100'000}, [] {
            const chan<int> c(1);
            go([c] { c.send(1); });
            while (c.len() == 0) {}
        });
        EXPECT_TRUE(r) << r.text();
    }
}

TEST(Simulation, WithoutStepsBeforeOperationsNothingIsPreempted) {
    EXPECT_TRUE(sim::explore({.before_operations = false}, lose_an_update));
}

TEST(Simulation, ChoosesCasesOfASelect) {
    std::set<int> chosen;
    const sim::report r = sim::explore({}, [&] {
        const chan<int> a(1);
        const chan<int> b(1);
        a.send(1);
        b.send(2);
        select(on_recv(a, [&](auto) { chosen.insert(1); }), on_recv(b, [&](auto) { chosen.insert(2); }));
    });
    EXPECT_TRUE(r) << r.text();
    EXPECT_EQ(chosen, (std::set{1, 2}));
}

TEST(Simulation, ChoosesNumbers) {
    const auto body = [] {
        if (sim::choose(10) == 7 && sim::choose(10) == 3) throw std::runtime_error("found");
    };
    const sim::report r = sim::explore({.schedules = 10'000}, body);
    EXPECT_EQ(r.result, verdict::failed);
    EXPECT_EQ(r.choices, 2U);
    EXPECT_LT(sim::choose(3), 3U);  // outside of a simulation, too
    EXPECT_THROW((void)sim::choose(0), std::invalid_argument);
}

TEST(Simulation, ReportsAThreadFromOutside) {
    test::leak_on_purpose();
    std::thread other;
    const sim::report r = sim::explore({.schedules = 1, .shrink = false}, [&other] {
        const chan<int> c;
        other = std::thread([c] { (void)c.try_send(1); });
        blocking([&other] { other.join(); });
        go([c] { c.send(1); });
        (void)c.recv();
    });
    EXPECT_TRUE(r) << r.text();  // it did nothing
    const sim::report wakes = sim::explore({.schedules = 1, .shrink = false}, [&other] {
        const chan<int> c;
        const chan<int> began(1);
        go([c, began] {
            began.send(1);
            (void)c.recv();
        });
        (void)began.recv();
        yield();  // until the other one waits
        yield();
        other = std::thread([c] { (void)c.try_send(1); });
        blocking([&other] { other.join(); });
    });
    EXPECT_EQ(wakes.result, verdict::uncontrolled) << wakes.text();
}

TEST(Simulation, MayBeFollowedByAnotherAfterAFailure) {
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(sim::explore({.shrink = false}, lock_in_two_orders).result, verdict::deadlock);
        EXPECT_EQ(sim::explore({.schedules = 10}, [] { yield(); }).result, verdict::passed);
    }
}

// Everything else in the process is as usual meanwhile.
TEST(Simulation, DoesNotAffectOtherRuntimes) {
    runtime rt({.procs = 2});
    std::atomic<bool> over{false};
    std::atomic<int> rounds{0};
    rt.go([&] {
        while (!over) {
            const chan<int> c;
            go([c] { c.send(1); });
            (void)c.recv();
            sleep_for(1us);
            ++rounds;
        }
    });
    EXPECT_TRUE(sim::explore({.schedules = 5000}, [] {
        const chan<int> c;
        go([c] { c.send(1); });
        (void)c.recv();
    }));
    const int before = rounds;
    while (rounds < before + 10) std::this_thread::sleep_for(1ms);
    over = true;
    rt.drain();
}

TEST(Simulation, RunThrowsAFailure) {
    EXPECT_EQ(sim::run([] {}).result, verdict::passed);
    try {
        sim::run(lose_an_update);
        FAIL() << "nothing was thrown";
    } catch (const sim::failure& e) {
        EXPECT_EQ(e.why().result, verdict::failed);
        EXPECT_EQ(e.what(), e.why().text());
    }
}

WEFT_SIM_TEST(SimulatedTest, AFutureIsReadyWhenItWasSet) {
    future<int> answer = async([] {
        sleep_for(1h);
        return 42;
    });
    EXPECT_EQ(answer.get(), 42);
}

TEST(SimulatedTest, AFailedCheckIsReportedWithItsSchedule) {
    ::testing::TestPartResultArray failed;
    {
        const ::testing::ScopedFakeTestPartResultReporter instead(
            ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failed);
        sim::expect_passes({}, [] {
            int x = 0;
            wait_group both;
            for (int i = 0; i < 2; ++i) {
                both.go([&x] {
                    const int seen = x;
                    checkpoint();
                    x = seen + 1;
                });
            }
            both.wait();
            EXPECT_EQ(x, 2) << "lost";
        });
    }
    ASSERT_EQ(failed.size(), 1);
    const std::string message = failed.GetTestPartResult(0).message();
    EXPECT_NE(message.find("sim_test.cc:"), std::string::npos) << message;
    EXPECT_NE(message.find("lost"), std::string::npos) << message;
    EXPECT_NE(message.find("WEFT_SIM=w1."), std::string::npos) << message;
}

}  // namespace
}  // namespace weft
