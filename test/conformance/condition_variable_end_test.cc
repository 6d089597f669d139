// condition_variable_end_test.cc: waits on a condition variable that end by a deadline or a
// stop_token, and its destruction.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <stop_token>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/leaks.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using ConditionVariableEnd = procs_test;
WEFT_SWEEP(ConditionVariableEnd);

TEST_P(ConditionVariableEnd, ATimeoutIsNeverEarlyAndHoldsTheLock) {
    const int wrong = rt().run([] {
        mutex m;
        condition_variable c;
        std::unique_lock lock(m);
        int mistakes = 0;
        for (const auto limit : {1us, 50us, 1000us, 5000us}) {
            auto start = steady_clock::now();
            mistakes += c.wait_for(lock, limit) != std::cv_status::timeout || steady_clock::now() - start < limit;
            start = steady_clock::now();
            mistakes +=
                c.wait_until(lock, start + limit) != std::cv_status::timeout || steady_clock::now() < start + limit;
            mistakes += c.wait_for(lock, limit, [] { return false; });
            mistakes += !lock.owns_lock() || m.try_lock();
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

// Some consumers time out, others wait for ever. If a notify for one that times out were lost, a
// waiting one would sleep beside a token, and the test would hang. No consumer wakes without a
// notify.
TEST_P(ConditionVariableEnd, ANotifyRacingWithATimeoutWakesTheNextWaiter) {
    const int tokens = scaled(300);
    mutex m;
    condition_variable c;
    int there = 0;
    int taken = 0;
    std::atomic<long> wakes = 0;
    std::atomic<long> notifies = 0;
    std::atomic<bool> over = false;
    prng random(announced_seed());
    const auto impatient = [&](prng own) {
        while (!over) {
            std::unique_lock lock(m);
            if (c.wait_for(lock, std::chrono::nanoseconds(own.below(20'000))) == std::cv_status::timeout) continue;
            ++wakes;
            if (there != 0) {
                --there;
                ++taken;
            } else {
                ++notifies;
                c.notify_one();  // the notify that woke us was for another token
            }
        }
    };
    const auto patient = [&] {
        std::unique_lock lock(m);
        while (taken + there != 0 || !over) {
            if (there != 0) {
                --there;
                ++taken;
            } else if (over) {
                return;
            } else {
                c.wait(lock);
                ++wakes;
            }
        }
    };
    std::vector<std::thread> threads;
    threads.emplace_back([&, own = random.split()] { impatient(own); });
    threads.emplace_back(patient);
    for (int g = 0; g < 4; ++g) rt().go([&, own = random.split()] { impatient(own); });
    for (int g = 0; g < 2; ++g) rt().go(patient);
    const auto give = [&] {
        for (int i = 0; i < tokens; ++i) {
            m.lock();
            ++there;
            ++notifies;
            c.notify_one();
            m.unlock();
            eventually([&] {
                const std::lock_guard hold(m);
                return there == 0;
            });
        }
    };
    std::thread giver(give);
    rt().run(give);
    giver.join();
    {
        const std::lock_guard hold(m);
        EXPECT_EQ(taken, 2 * tokens);
        EXPECT_LE(wakes, notifies);
        over = true;
        c.notify_all();
    }
    for (std::thread& t : threads) t.join();
    rt().drain();
}

// ---- std::stop_token.

TEST_P(ConditionVariableEnd, AStopEndsOnlyItsWait) {
    mutex m;
    condition_variable c;
    std::atomic<int> looks = 0;
    bool over = false;
    std::stop_source stop;
    std::atomic<int> stopped = 0;
    int joined = 0;  // guarded by m
    for (int i = 0; i < 3; ++i) {
        rt().go([&] {
            std::unique_lock lock(m);
            ++joined;
            stopped += !c.wait(lock, stop.get_token(), [] { return false; }) && lock.owns_lock();
        });
        rt().go([&] {
            std::unique_lock lock(m);
            ++joined;
            c.wait(lock, [&] { return ++looks, over; });
        });
    }
    eventually([&] {
        const std::lock_guard hold(m);
        return joined == 6;
    });
    std::thread plain([&] {
        std::unique_lock lock(m);
        stopped += !c.wait_for(lock, stop.get_token(), 1h, [] { return false; });
    });
    stop.request_stop();
    plain.join();
    eventually([&] { return stopped == 4; });
    EXPECT_EQ(looks, 3);  // once each, before they waited
    m.lock();
    over = true;
    m.unlock();
    c.notify_all();
    rt().drain();
    EXPECT_EQ(looks, 6);
}

TEST_P(ConditionVariableEnd, AGreenThreadMayRequestTheStop) {
    const int rounds = scaled(500);
    const int wrong = rt().run([rounds] {
        int mistakes = 0;
        for (int i = 0; i < rounds; ++i) {
            mutex m;
            condition_variable_any c;
            std::stop_source stop;
            wait_group all;
            all.go([&] {
                if (i % 2 == 0) weft::yield();
                stop.request_stop();
            });
            std::unique_lock lock(m);
            mistakes += c.wait(lock, stop.get_token(), [] { return false; });
            lock.unlock();
            all.wait();
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

// Stops, notifies and deadlines at once. The condition variables are destroyed as soon as all
// waiters have been notified.
TEST_P(ConditionVariableEnd, MayBeDestroyedAfterRacingStopsAndNotifies) {
    const int rounds = scaled(300);
    prng random(announced_seed());
    alignas(condition_variable) std::byte memory[sizeof(condition_variable)];
    for (int round = 0; round < rounds; ++round) {
        auto* c = ::new (memory) condition_variable;
        mutex m;
        int waiting = 0;
        bool over = false;
        std::stop_source stop;
        std::vector<std::thread> threads;
        const auto wait = [&](int kind, std::chrono::nanoseconds limit) {
            std::unique_lock lock(m);
            ++waiting;
            // Each waits only once, because a second wait would need a live condition variable.
            bool looked = false;
            const auto once = [&] { return std::exchange(looked, true) || over; };
            if (kind == 0) c->wait(lock, [&] { return over; });
            if (kind == 1) (void)c->wait_for(lock, limit);
            if (kind == 2) (void)c->wait(lock, stop.get_token(), once);
            if (kind == 3) (void)c->wait_for(lock, stop.get_token(), limit, once);
        };
        const auto limit = [&] { return std::chrono::nanoseconds(random.below(40'000)); };
        for (int kind = 0; kind < 4; ++kind) {
            threads.emplace_back(wait, kind, limit());
            rt().go([&wait, kind, t = limit()] { wait(kind, t); });
        }
        std::thread stopper([&, t = random.below(30)] {
            std::this_thread::sleep_for(std::chrono::microseconds(t));
            stop.request_stop();
        });
        eventually([&] {
            const std::lock_guard hold(m);
            return waiting == 8;
        });
        m.lock();
        over = true;
        m.unlock();
        if (round % 2 == 0) {
            c->notify_all();
            c->~condition_variable();
            std::memset(memory, 0xa5, sizeof memory);
        } else {
            rt().run([&] {
                c->notify_all();
                c->~condition_variable();
                std::memset(memory, 0xa5, sizeof memory);
            });
        }
        stopper.join();
        for (std::thread& t : threads) t.join();
        rt().drain();
    }
}

// ---- The end.

// The condition variable is destroyed right after notify_all(): it is gone when the waiters see
// their flag.
TEST_P(ConditionVariableEnd, MayBeDestroyedWhenAllHaveBeenNotified) {
    const int rounds = scaled(3000);
    rt().run([rounds] {
        alignas(condition_variable) std::byte memory[sizeof(condition_variable)];
        for (int i = 0; i < rounds; ++i) {
            auto* c = ::new (memory) condition_variable;
            mutex m;
            int waiting = 0;
            bool over = false;
            wait_group all;
            for (int w = 0; w < 3; ++w) {
                all.go([&] {
                    std::unique_lock lock(m);
                    ++waiting;
                    c->wait(lock, [&] { return over; });
                });
            }
            for (bool wait = true; wait; weft::yield()) {
                const std::lock_guard hold(m);
                wait = waiting != 3;
            }
            {
                const std::lock_guard hold(m);
                over = true;
                c->notify_all();
                c->~condition_variable();
                std::memset(memory, 0xa5, sizeof memory);
            }
            all.wait();
        }
    });
}

TEST_P(ConditionVariableEnd, WaitersOfAStoppedRuntimeAreRemoved) {
    leak_on_purpose();
    auto c = std::make_unique<condition_variable>();
    auto m = std::make_unique<mutex>();
    std::stop_source stop;
    int joined = 0;
    rt().go([&] {
        std::unique_lock lock(*m);
        ++joined;
        c->wait(lock);
    });
    rt().go([&] {
        std::unique_lock lock(*m);
        ++joined;
        (void)c->wait_for(lock, 1h);
    });
    rt().go([&] {
        std::unique_lock lock(*m);
        ++joined;
        c->wait(lock, stop.get_token(), [] { return false; });
    });
    eventually([&] {
        const std::lock_guard hold(*m);
        return joined == 3;
    });
    EXPECT_EQ(rt().abandon(), 3U);
    stop.request_stop();
    c->notify_all();
    c.reset();
    m.reset();
}

}  // namespace
}  // namespace weft::test
