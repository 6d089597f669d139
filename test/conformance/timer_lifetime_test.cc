// timer_lifetime_test.cc: timers that are dropped, that outlive their creator, and whose runtime is
// stopped.

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/eventually.h"
#include "support/pending_timers.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using TimerLifetime = procs_test;
WEFT_SWEEP(TimerLifetime);

TEST_P(TimerLifetime, ADroppedTimerIsRemovedAtOnce) {
    rt().run([] {
        { const timer t(1h); }
        { const ticker every(1h); }
        {
            const timer t = after_func(1h, [] {});
        }
        { const auto c = after(1h); }
        {
            auto c = after(1h);
            auto another = c;
            c = after(2h);
        }
    });
    EXPECT_EQ(pending_timers(rt()), 0U);
}

TEST_P(TimerLifetime, AChannelOfAfterKeepsItsTimerAlive) {
    const auto c = rt().run([] { return after(1h); });
    EXPECT_EQ(pending_timers(rt()), 1U);
    { const auto another = c; }
    EXPECT_EQ(pending_timers(rt()), 1U);
    {
        auto last = c;
        const_cast<recv_chan<steady_clock::time_point>&>(c) = after(1us);  // that of a plain thread
    }
    EXPECT_EQ(pending_timers(rt()), 0U);
    EXPECT_TRUE(c.recv().has_value());
}

TEST_P(TimerLifetime, AMillionDroppedChannelsOfAfterLeaveNothing) {
    const int n = scaled(1'000'000);
    const std::size_t before = resources::now().resident_kib;
    rt().run([n] {
        for (int i = 0; i < n; ++i) {
            const auto c = after(1h + std::chrono::microseconds(i));
            EXPECT_EQ(c.try_recv().status, chan_status::would_block);
        }
    });
    EXPECT_EQ(pending_timers(rt()), 0U);
    // Pages of a sanitizer or an emulator are resident too.
    if (!built_with_sanitizer && untouched_pages_are_free()) {
        EXPECT_LE(resources::now().resident_kib, before + 50'000);
    }
}

TEST_P(TimerLifetime, AnUnreceivedTickOutlivesItsTimer) {
    rt().run([] {
        std::optional<timer> t(std::in_place, 10us);
        const auto c = t->chan();
        const auto later = after(2ms);
        later.recv();
        t.reset();
        EXPECT_EQ(c.try_recv().status, chan_status::ok);
        EXPECT_EQ(c.recv_for(1ms).status, chan_status::timed_out);
    });
}

TEST_P(TimerLifetime, ADroppedTimerSendsNoTick) {
    rt().run([] {
        // Repeats until the drop is in time: the machine may stall for a moment.
        for (bool in_time = false; !in_time;) {
            const auto due = std::chrono::steady_clock::now() + 2ms;
            std::optional<timer> t(std::in_place, 2ms);
            const auto c = t->chan();
            t.reset();
            in_time = std::chrono::steady_clock::now() < due;
            const chan_status status = c.recv_for(4ms).status;
            EXPECT_TRUE(status == chan_status::timed_out || !in_time);
        }
        std::optional<ticker> every(std::in_place, 100us);
        const auto ticks = every->chan();
        ticks.recv();
        every.reset();
        static_cast<void>(ticks.try_recv());  // one may have waited
        EXPECT_EQ(ticks.recv_for(2ms).status, chan_status::timed_out);
    });
    EXPECT_EQ(pending_timers(rt()), 0U);
}

TEST_P(TimerLifetime, ADetachedTimerTicksWithoutItsObject) {
    rt().run([] {
        timer t(1ms);
        const auto c = t.chan();
        t.detach();
        EXPECT_TRUE(c.recv().has_value());
    });
}

TEST_P(TimerLifetime, TimersOutliveTheirCreator) {
    rt().run([] {
        const chan<recv_chan<steady_clock::time_point>> made(10);
        for (int i = 0; i < 10; ++i) {
            go([made] { made.send(after(1ms)); });
        }
        for (int i = 0; i < 10; ++i) EXPECT_TRUE(made.recv()->recv().has_value());
    });
}

// The timers are dropped at the moment they fire.
TEST_P(TimerLifetime, DroppingRacesWithFiring) {
    const int rounds = scaled(4000);
    const uint64_t seed = announced_seed();
    const long before = tracked::alive();
    std::atomic<int> ran = 0;
    rt().run([&] {
        wait_group all;
        prng seeds(seed);
        for (int k = 0; k < 4; ++k) {
            all.go([&, random = seeds.split()]() mutable {
                for (int i = 0; i < rounds; ++i) {
                    const std::chrono::microseconds delay(random.below(30));
                    const std::optional<timer> t(std::in_place, delay);
                    const timer f = after_func(delay, [&ran, held = tracked(i)] { ++ran; });
                    const auto c = after(delay);
                    const ticker every(delay + 1us);
                    if (random.one_in(3)) sleep_for(std::chrono::microseconds(random.below(30)));
                    if (random.one_in(3)) weft::yield();
                }
            });
        }
        all.wait();
    });
    rt().drain();
    EXPECT_EQ(pending_timers(rt()), 0U);
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(TimerLifetime, AStoppedRuntimeStopsItsTimers) {
    const long before = tracked::alive();
    std::atomic<int> ran = 0;
    timer t, f;
    ticker every;
    std::optional<recv_chan<steady_clock::time_point>> c;
    rt().run([&] {
        t = timer(1h);
        f = after_func(1h, [&ran, held = tracked(1)] { ++ran; });
        every = ticker(1h);
        c = after(1h);
        after_func(1h, [&ran, held = tracked(2)] { ++ran; }).detach();
    });
    EXPECT_EQ(tracked::alive(), before + 2);
    EXPECT_EQ(rt().abandon(), 0U);
    EXPECT_EQ(tracked::alive(), before + 1) << "nobody can start the detached one again";

    EXPECT_FALSE(t.stop());
    EXPECT_FALSE(f.stop());
    EXPECT_EQ(c->recv_for(1ms).status, chan_status::timed_out);
    EXPECT_EQ(ran, 0);

    // A reset moves them to their caller's runtime.
    rt().start();
    rt().run([&] {
        EXPECT_FALSE(t.reset(1us));
        EXPECT_TRUE(t.chan().recv().has_value());
        every.reset(1us);
        EXPECT_TRUE(every.chan().recv().has_value());
        every.stop();
        EXPECT_FALSE(f.reset(1us));
    });
    eventually([&] { return ran == 1; });
    rt().drain();
    f = timer();
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(TimerLifetime, ATickBeforeTheStopCanStillBeReceived) {
    const uint64_t fired = rt().stats().timers_fired;
    const auto c = rt().run([] { return after(1us); });
    eventually([&] { return rt().stats().timers_fired > fired; });
    rt().abandon();
    EXPECT_EQ(c.try_recv().status, chan_status::ok);
}

TEST_P(TimerLifetime, ARuntimeMayBeStoppedWhileTimersFire) {
    const int rounds = scaled(100);
    const long before = tracked::alive();
    for (int round = 0; round < rounds; ++round) {
        std::atomic<int> ran = 0;
        {
            std::vector<timer> timers;
            std::vector<ticker> tickers;
            rt().run([&] {
                for (int i = 0; i < 50; ++i) {
                    timers.push_back(timer(std::chrono::microseconds(i)));
                    timers.push_back(after_func(std::chrono::microseconds(i), [&ran, held = tracked(i)] { ++ran; }));
                    tickers.push_back(ticker(std::chrono::microseconds(5 + i)));
                    after_func(std::chrono::microseconds(i), [&ran, held = tracked(i)] { ++ran; }).detach();
                }
            });
            if (round % 3 == 0) eventually([&] { return ran > 10; });
            rt().abandon();  // those that have not run are destroyed
            const int then = ran;
            for (timer& t : timers) t.stop();
            EXPECT_EQ(ran, then);
        }
        ASSERT_EQ(tracked::alive(), before);
        rt().start();
    }
}

// Plain threads stop, reset and drop timers of a runtime that is being stopped.
TEST_P(TimerLifetime, ARuntimeMayBeStoppedWhilePlainThreadsUseItsTimers) {
    const int rounds = scaled(60);
    const long before = tracked::alive();
    for (int round = 0; round < rounds; ++round) {
        std::vector<timer> timers;
        rt().run([&] {
            for (int i = 0; i < 200; ++i) {
                if (i % 2 == 0) {
                    timers.push_back(timer(std::chrono::microseconds(20 * i)));
                } else {
                    timers.push_back(after_func(std::chrono::microseconds(20 * i), [held = tracked(i)] {}));
                }
            }
        });
        std::atomic<bool> started = false;
        std::thread user([&] {
            started = true;
            for (std::size_t i = 0; i < timers.size(); ++i) {
                if (i % 3 == 0) timers[i].stop();
                if (i % 3 == 1) timers[i].reset(1h);
                if (i % 4 == 3) timers[i] = timer();
            }
        });
        eventually([&] { return started.load(); });
        rt().abandon();
        user.join();
        timers.clear();
        rt().start();
    }
    eventually([&] { return tracked::alive() == before; });  // the default runtime may still run some
}

}  // namespace
}  // namespace weft::test
