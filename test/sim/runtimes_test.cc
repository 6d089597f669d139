// runtimes_test.cc: tests that start runtimes of their own, and sleep as plain threads do.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/sim/network.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "check.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t schedules = 200;

sim::report explore(std::function<void()> body) { return sim::explore({.schedules = schedules}, std::move(body)); }

sim::report repeat(std::function<void()> body) { return sim::check_repeatable({.schedules = 50}, std::move(body)); }

TEST(SimulatedRuntime, RunsWhatItIsGiven) {
    std::set<std::string> orders;
    const auto body = [&] {
        std::string order;
        {
            runtime rt({.procs = 2});
            EXPECT_TRUE(rt.running());
            EXPECT_EQ(rt.procs(), 2U);
            rt.go([&] { order += 'a'; });
            rt.go([&] { order += 'b'; });
            EXPECT_EQ(rt.run([] { return 7; }), 7);
            EXPECT_THROW(rt.run([] { throw std::runtime_error("no"); }), std::runtime_error);
            rt.drain();
            EXPECT_EQ(order.size(), 2U);
        }
        orders.insert(order);
    };
    const sim::report r = explore(body);
    EXPECT_TRUE(r) << r.text();
    EXPECT_EQ(orders, (std::set<std::string>{"ab", "ba"}));
    const sim::report again = repeat(body);
    EXPECT_TRUE(again) << again.text();
}

// The bug of the first example, in a program with a runtime.
TEST(SimulatedRuntime, ALostUpdateIsFound) {
    const sim::report r = explore([] {
        runtime rt;
        int x = 0;
        for (int i = 0; i < 2; ++i) {
            rt.go([&] {
                const int seen = x;
                yield();
                x = seen + 1;
            });
        }
        rt.drain();
        if (x != 2) throw std::runtime_error("an update was lost");
    });
    EXPECT_EQ(r.result, sim::verdict::failed) << r.text();
    EXPECT_NE(r.text().find("an update was lost"), std::string::npos) << r.text();
}

TEST(SimulatedRuntime, SleepsTakeNoTime) {
    const auto begun = std::chrono::steady_clock::now();
    const sim::report r = explore([] {
        runtime rt;
        rt.go([] { sleep_for(24h); });
        rt.drain();
    });
    EXPECT_TRUE(r) << r.text();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 1h);
}

TEST(SimulatedRuntime, ChildrenBelongToTheRuntimeOfTheirStarter) {
    const sim::report r = explore([] {
        runtime one;
        runtime two;
        int ended = 0;
        const chan<int> end;
        one.go([&] {
            go([&] {
                yield();
                ++ended;
            });
        });
        two.go([&] { (void)end.recv(); });
        one.drain();  // not the other's
        EXPECT_EQ(ended, 1);
        EXPECT_EQ(one.stats().live, 0U);
        EXPECT_EQ(two.stats().live, 1U);
        end.close();
        two.drain();
        EXPECT_EQ(two.stats().finished, 1U);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, SeveralStartedByOneAnother) {
    const sim::report r = explore([] {
        runtime outer;
        const int n = outer.run([] {
            runtime inner({.procs = 1});
            const int of_inner = inner.run([] { return static_cast<int>(stats().live); });
            inner.drain();
            return of_inner * 10 + static_cast<int>(stats().live);
        });
        EXPECT_EQ(n, 11);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, CountsItsGreenThreads) {
    const sim::report r = sim::explore({.schedules = 20}, [] {
        runtime rt({.procs = 3});
        const chan<int> end;
        rt.go([&] { (void)end.recv(); });
        rt.go([&] { (void)end.recv(); });
        while (rt.stats().waiting != 2) yield();
        const stats_snapshot s = rt.stats();
        EXPECT_EQ(s.live, 2U);
        EXPECT_EQ(s.runnable, 0U);
        EXPECT_EQ(s.running, 0U);
        EXPECT_EQ(s.procs, 3U);
        rt.run([&] {
            EXPECT_EQ(stats().running, 1U);
            EXPECT_EQ(stats().live, 3U);
        });
        end.close();
        rt.drain();
        EXPECT_EQ(rt.stats().spawned, rt.stats().finished);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, NumbersOfProcessorsAreRemembered) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        runtime rt({.procs = 2});
        EXPECT_EQ(rt.set_max_procs(8), 2U);
        EXPECT_EQ(rt.procs(), 8U);
        rt.run([] {
            EXPECT_EQ(set_max_procs(3), 8U);
            EXPECT_THROW(set_max_procs(5000), std::invalid_argument);
        });
        EXPECT_EQ(rt.procs(), 3U);
        EXPECT_EQ(set_max_procs(2), 1U);  // of the test's own green threads
        EXPECT_EQ(rt.procs(), 3U);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, ShutdownCancelsItsWaits) {
    const auto body = [] {
        runtime rt;
        runtime other;
        const chan<int> never;
        const chan<int> others;
        int cancelled = 0;
        for (int i = 0; i < 3; ++i) {
            rt.go([&] {
                try {
                    (void)never.recv();
                } catch (const weft::cancelled&) {
                    ++cancelled;
                    throw;  // as one may
                }
            });
        }
        other.go([&] { (void)others.recv(); });
        while (rt.stats().waiting != 3) yield();
        const stop_outcome done = rt.shutdown(1s);
        EXPECT_EQ(done.drained, 3U);
        EXPECT_EQ(done.cancelled, 3U);
        EXPECT_EQ(done.abandoned, 0U);
        EXPECT_EQ(cancelled, 3);
        EXPECT_FALSE(rt.running());
        EXPECT_FALSE(rt.try_go([] {}));
        EXPECT_EQ(other.stats().live, 1U);
        others.close();
        other.drain();
        rt.start();
        EXPECT_EQ(rt.run([] { return 1; }), 1);
    };
    const sim::report r = explore(body);
    EXPECT_TRUE(r) << r.text();
    const sim::report again = repeat(body);
    EXPECT_TRUE(again) << again.text();
}

TEST(SimulatedRuntime, ShutdownWaitsUntilItsDeadline) {
    const sim::report r = explore([] {
        runtime rt;
        rt.go([] { shield([] { sleep_for(10s); }); });
        const auto begun = std::chrono::steady_clock::now();
        const stop_outcome done = rt.shutdown(1min);
        EXPECT_EQ(done.abandoned, 0U);
        EXPECT_GE(std::chrono::steady_clock::now() - begun, 9s);  // it may have begun late
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, AShutdownAbandonsWhatHasNotEndedAtItsDeadline) {
    const sim::report r = explore([] {
        bool ran = false;
        runtime rt;
        rt.go([&] {
            shield([] { sleep_for(10s); });
            ran = true;
        });
        while (rt.stats().waiting != 1) yield();
        const stop_outcome done = rt.shutdown(1s);
        EXPECT_EQ(done.abandoned, 1U);
        EXPECT_EQ(done.drained, 0U);
        EXPECT_EQ(done.cancelled, 0U);
        sleep_for(1h);
        EXPECT_FALSE(ran);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, AbandonedGreenThreadsNeverRunAndLeaveTheQueues) {
    const auto body = [] {
        const chan<int> c;
        mutex m;
        bool ran = false;
        m.lock();
        {
            runtime rt;
            rt.go([&] {
                (void)c.recv();
                ran = true;
            });
            rt.go([&] {
                m.lock();
                ran = true;
            });
            rt.go([&] {
                sleep_for(1s);
                ran = true;
            });
            rt.go([&] {
                for (;;) yield();
            });
            while (rt.stats().waiting != 3) yield();
            EXPECT_EQ(rt.abandon(), 4U);
            EXPECT_FALSE(rt.running());
        }
        m.unlock();
        const std::lock_guard free(m);
        EXPECT_EQ(c.try_send(1), chan_status::would_block);
        sleep_for(1h);
        EXPECT_FALSE(ran);
    };
    const sim::report r = explore(body);
    EXPECT_TRUE(r) << r.text();
    const sim::report again = repeat(body);
    EXPECT_TRUE(again) << again.text();
}

// As in Go when main returns.
TEST(SimulatedRuntime, MainAbandonsTheOthers) {
    const sim::report r = explore([] {
        weft::main([] {
            const chan<int> c;
            go([c] { c.send(1); });
            (void)c.recv();
        });
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, TimersEndWithIt) {
    const sim::report r = explore([] {
        bool ran = false;
        timer kept;
        {
            runtime rt;
            rt.run([&] {
                kept = after_func(1h, [&] { ran = true; });
                after_func(1h, [&] { ran = true; }).detach();
            });
        }
        sleep_for(2h);
        EXPECT_FALSE(ran);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, ShutdownReachesWorkOfFuturesAndScopes) {
    const sim::report r = explore([] {
        runtime rt;
        const auto f = rt.async([] { sleep_for(1h); });
        rt.go([] {
            scope([](task_scope& s) {
                for (int i = 0; i < 2; ++i) s.go([] { sleep_for(1h); });
            });
        });
        while (rt.stats().waiting != 4) yield();
        const stop_outcome done = rt.shutdown(1s);
        EXPECT_EQ(done.drained, 4U);
        EXPECT_EQ(done.abandoned, 0U);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, ContinuationsBelongToItBeforeTheyRun) {
    const sim::report r = explore([] {
        const chan<int> c;
        runtime rt;
        int x = 0;
        future<void> last;
        rt.run([&] { last = async([c] { return c.recv().value_or(0); }).then([&](int v) { x = v; }); });
        go([c] {
            sleep_for(50ms);
            c.send(7);
        });
        EXPECT_EQ(rt.stats().live, 2U);
        rt.drain();
        EXPECT_EQ(x, 7);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, OneOfTwoConcurrentStopsEndsIt) {
    const sim::report r = explore([] {
        runtime rt;
        for (int i = 0; i < 2; ++i) rt.go([] { sleep_for(1h); });
        wait_group both;
        std::size_t drained = 0;
        for (int i = 0; i < 2; ++i) both.go([&] { drained += rt.shutdown(1min).drained; });
        both.wait();
        EXPECT_EQ(drained, 2U);
        EXPECT_FALSE(rt.running());
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, AllOrdersIncludeThoseOfItsEnd) {
    for (const sim::strategy how : {sim::strategy::dpor, sim::strategy::exhaustive}) {
        std::set<bool> started;
        std::set<bool> running;
        std::set<unsigned> procs;
        const sim::report r = sim::explore({.schedules = 100'000, .pick = how}, [&] {
            runtime rt({.procs = 2});
            bool was_started = false;
            bool was_running = false;
            unsigned seen = 0;
            wait_group three;
            three.go([&] {
                seen = rt.procs();
                was_started = rt.try_go([] {});
            });
            three.go([&] { was_running = rt.running(); });
            three.go([&] {
                rt.set_max_procs(7);
                rt.abandon();
            });
            three.wait();
            started.insert(was_started);
            running.insert(was_running);
            procs.insert(seen);
        });
        EXPECT_TRUE(r) << r.text();
        EXPECT_TRUE(r.exhausted);
        EXPECT_EQ(started.size(), 2U) << static_cast<int>(how);
        EXPECT_EQ(running.size(), 2U) << static_cast<int>(how);
        EXPECT_EQ(procs, (std::set<unsigned>{0, 2, 7})) << static_cast<int>(how);
    }
}

TEST(SimulatedRuntime, AHostThatCrashesEndsTheGreenThreadsOfItsRuntime) {
    const sim::report r = explore([] {
        const sim::network net;
        const sim::host server = net.add_host("server");
        bool ran = false;
        server.go([&] {
            runtime rt;
            rt.go([&] {
                sleep_for(1h);
                ran = true;
            });
            sleep_for(1h);
            (void)rt.shutdown(1s);
        });
        sleep_for(1s);
        server.crash();
        sleep_for(2h);
        EXPECT_FALSE(ran);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, ShutdownReachesGreenThreadsThatAnotherHostHasStarted) {
    const sim::report r = explore([] {
        const sim::network net;
        const sim::host server = net.add_host("server");
        runtime rt;
        event started;
        server.go([&] {
            rt.go([] { sleep_for(1h); });
            started.set();
        });
        started.wait();
        EXPECT_EQ(rt.shutdown(1min).abandoned, 0U);
    });
    EXPECT_TRUE(r) << r.text();
}

// has_failed() is asked outside of the test.
TEST(SimulatedRuntime, StatisticsOutsideOfATestHaveNoGreenThreads) {
    stats_snapshot seen;
    const sim::report r = sim::explore({.schedules = 1,
                                        .has_failed =
                                            [&] {
                                                seen = stats();
                                                return false;
                                            }},
                                       [] { go([] {}); });
    EXPECT_TRUE(r) << r.text();
    EXPECT_LE(seen.waiting, 1U);
    EXPECT_LE(seen.live, 1U);
}

// A question for a cancellation is no operation whose order matters.
TEST(SimulatedRuntime, AskingForACancellationAddsNoOrders) {
    const auto orders = [](bool asks) {
        return sim::explore({.schedules = 10'000, .pick = sim::strategy::dpor},
                            [asks] {
                                mutex m;
                                wait_group both;
                                for (int i = 0; i < 2; ++i) {
                                    both.go([&, asks] {
                                        if (asks) throw_if_cancelled();
                                        const std::lock_guard held(m);
                                    });
                                }
                                both.wait();
                            })
            .schedules;
    };
    EXPECT_EQ(orders(true), orders(false));
}

TEST(SimulatedRuntime, BadOptionsAreRefused) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        EXPECT_THROW(runtime({.procs = 5000}), std::invalid_argument);
        EXPECT_THROW(runtime({.slice = 1ns}), std::invalid_argument);
        EXPECT_THROW(runtime({.memory_idle = 1ns}), std::invalid_argument);
        EXPECT_THROW(runtime({.preempt_signal = 9}), std::invalid_argument);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, ARealOneIsOutsideOfTheSimulation) {
    runtime real({.procs = 1});
    const sim::report r = sim::explore({.schedules = 1}, [&] { real.go([] {}); });
    EXPECT_EQ(r.result, sim::verdict::uncontrolled) << r.text();
    EXPECT_NE(r.reason.find("outside of the simulation"), std::string::npos) << r.text();
    real.drain();
}

TEST(SimulatedRuntime, AStaticOneIsReported) {
    const sim::report r = explore([] {
        static runtime rt;
        rt.run([] {});
    });
    EXPECT_EQ(r.result, sim::verdict::leaked) << r.text();
}

TEST(SimulatedRuntime, ManyTakeLinearTime) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        for (int i = 0; i < 20'000; ++i) {
            runtime rt;
            rt.run([] {});
        }
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, OneThatOutlivesTheTestIsALeak) {
    static std::optional<runtime> kept;
    const sim::report r = explore([] {
        kept.emplace();
        kept->run([] {});
    });
    EXPECT_EQ(r.result, sim::verdict::leaked) << r.text();
    EXPECT_EQ(r.schedules, 1U);
    EXPECT_FALSE(kept->running());
    kept->start();  // outside of the simulation: a real one
    EXPECT_EQ(kept->run([] { return 3; }), 3);
    kept.reset();
}

TEST(SimulatedRuntime, ADeadlockInsideIsFound) {
    const sim::report r = explore([] {
        runtime rt;
        const chan<int> c;
        rt.run([c] { c.send(1); });
    });
    EXPECT_EQ(r.result, sim::verdict::deadlock) << r.text();
}

TEST(SimulatedRuntime, MainRunsInTheSimulation) {
    const sim::report r = explore([] {
        int x = 0;
        const int code = weft::main([&] {
            wait_group both;
            for (int i = 0; i < 2; ++i) both.go([&] { ++x; });
            both.wait();
            return 5;
        });
        EXPECT_EQ(code, 5);
        EXPECT_EQ(x, 2);
        EXPECT_THROW(weft::main([] { throw std::runtime_error("no"); }), std::runtime_error);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, GreenThreadsOfAHostThatCrashesEndThere) {
    const sim::report r = explore([] {
        const sim::network net;
        const sim::host server = net.add_host("server");
        int served = 0;
        server.go([&] {
            runtime rt;
            rt.go([&] {
                sleep_for(1s);
                ++served;
            });
            rt.drain();
        });
        sleep_for(500ms);
        server.crash();
        sleep_for(2s);
        EXPECT_EQ(served, 0);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedRuntime, WaitsInBlockingCallsLetOthersRun) {
    const auto body = [] {
        const chan<int> c;
        go([c] { c.send(3); });
        EXPECT_EQ(blocking([&] { return c.recv().value_or(0); }), 3);
        EXPECT_THROW(with_timeout(1ms, [&] { blocking([&] { (void)c.recv(); }); }), timed_out);
        EXPECT_THROW(blocking([] { throw std::runtime_error("no"); }), std::runtime_error);
        blocking_pool pool("pool", 1);
        wait_group both;
        for (int i = 0; i < 2; ++i) both.go([&] { pool.run([] { std::this_thread::sleep_for(1h); }); });
        both.wait();
    };
    const sim::report r = explore(body);
    EXPECT_TRUE(r) << r.text();
    const sim::report again = repeat(body);
    EXPECT_TRUE(again) << again.text();
}

TEST(SimulatedRuntimeDeathTest, RefusesToWaitForItsCaller) {
    const auto in_simulation = [](auto f) { (void)sim::explore({.schedules = 1}, f); };
    EXPECT_DEATH(in_simulation([] {
                     runtime rt;
                     rt.run([&] { rt.drain(); });
                 }),
                 "drain\\(\\) was called by a green thread of that runtime");
    EXPECT_DEATH(in_simulation([] {
                     runtime rt;
                     rt.run([&] { rt.abandon(); });
                 }),
                 "abandon\\(\\) was called by a green thread of that runtime");
}

// ---- Sleeps of the C library.

TEST(SimulatedSleep, StandardSleepsAreSimulated) {
    const auto begun = std::chrono::steady_clock::now();
    const auto body = [] {
        const auto start = std::chrono::steady_clock::now();
        int ticks = 0;
        go([&] {
            for (int i = 0; i < 10; ++i) {
                sleep_for(1h);
                ++ticks;
            }
        });
        std::this_thread::sleep_for(10h + 30min);
        EXPECT_EQ(ticks, 10);
        std::this_thread::sleep_until(start + 24h);
        EXPECT_GE(std::chrono::steady_clock::now() - start, 24h);
        EXPECT_EQ(::usleep(1000), 0);
        EXPECT_EQ(::sleep(3600), 0U);
        EXPECT_GE(std::chrono::steady_clock::now() - start, 25h);
    };
    const sim::report r = explore(body);
    EXPECT_TRUE(r) << r.text();
    const sim::report again = repeat(body);
    EXPECT_TRUE(again) << again.text();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 1h);
}

TEST(SimulatedSleep, ALoopThatOnlyAsksForTheTimeEnds) {
    const auto body = [] {
        const auto start = std::chrono::steady_clock::now();
        EXPECT_EQ(std::chrono::steady_clock::now(), start);
        while (std::chrono::steady_clock::now() < start + 10ms) {}
        sleep_for(1ms);
        const auto later = std::chrono::steady_clock::now();
        EXPECT_EQ(std::chrono::steady_clock::now(), later);
    };
    const sim::report r = explore(body);
    EXPECT_TRUE(r) << r.text();
    const sim::report again = repeat(body);
    EXPECT_TRUE(again) << again.text();
}

TEST(SimulatedSleep, ALoopThatOnlyAsksForACancellationEnds) {
    const sim::report r = explore([] {
        EXPECT_THROW(with_timeout(5ms,
                                  [] {
                                      for (;;) throw_if_cancelled();
                                  }),
                     timed_out);
        bool ran = false;
        scope([&](task_scope& s) {
            s.go([&] {
                try {
                    for (;;) throw_if_cancelled();
                } catch (const cancelled&) {
                    ran = true;
                    throw;
                }
            });
            yield();
            s.cancel();
        });
        EXPECT_TRUE(ran);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedSleep, ALoopThatYieldsTheThreadLetsOthersRun) {
    const sim::report r = explore([] {
        bool there = false;
        go([&] { there = true; });
        while (!there) std::this_thread::yield();
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedSleep, KeepsErrno) {
    const sim::report r = explore([] {
        go([] {
            errno = 77;
            sleep_for(1ms);
            errno = 78;
        });
        errno = 5;
        ::usleep(10'000);
        EXPECT_EQ(errno, 5);
        std::this_thread::yield();
        EXPECT_EQ(errno, 5);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedSleep, ForEverNeverEnds) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        const timespec for_ever{std::numeric_limits<time_t>::max(), 0};
        ::nanosleep(&for_ever, nullptr);
    });
    EXPECT_EQ(r.result, sim::verdict::deadlock) << r.text();
}

TEST(SimulatedSleep, BadTimesAreRefusedAsAlways) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        const timespec bad{0, 1'000'000'000};
        EXPECT_EQ(::nanosleep(&bad, nullptr), -1);
        EXPECT_EQ(errno, EINVAL);
    });
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedSleep, PlainThreadsReallySleep) {
    const auto begun = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(20ms);
    EXPECT_GE(std::chrono::steady_clock::now() - begun, 20ms);
    EXPECT_EQ(::usleep(1000), 0);
    EXPECT_EQ(::sleep(0), 0U);
    std::this_thread::yield();
}

}  // namespace
}  // namespace weft::test
