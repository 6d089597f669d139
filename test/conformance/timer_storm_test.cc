// timer_storm_test.cc: storms of timers that are made, reset, stopped and dropped: none is lost,
// and none is early.

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/pending_timers.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using TimerStorm = procs_test;
WEFT_SWEEP(TimerStorm);

// Each round of each timer ends in a tick, or in a stop that prevented it.
TEST_P(TimerStorm, EveryTimerTicksOrIsStopped) {
    const int parties = scaled(100);
    const uint64_t seed = announced_seed();
    std::atomic<int> early = 0;
    std::atomic<int> lost = 0;
    rt().run([&] {
        wait_group all;
        prng seeds(seed);
        for (int k = 0; k < parties; ++k) {
            all.go([&, random = seeds.split()]() mutable {
                timer t(1h);
                const auto c = t.chan();
                for (int i = 0; i < 50; ++i) {
                    const std::chrono::microseconds delay(random.below(random.one_in(10) ? 5000 : 300));
                    const auto due = steady_clock::now() + delay;
                    t.reset(delay);
                    if (random.one_in(4)) weft::yield();
                    if (random.one_in(3)) {
                        lost += !t.stop();
                        lost += c.try_recv().status == chan_status::ok;
                        continue;
                    }
                    early += *c.recv() < due;
                    early += steady_clock::now() < due;
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(early, 0);
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(pending_timers(rt()), 0U);
}

// All parties reset and stop the timers, which have receivers of their own: as many ticks come as
// were not prevented.
TEST_P(TimerStorm, SharedTimersTickUnlessPrevented) {
    constexpr int timers = 8;
    const int rounds = scaled(3000);
    const uint64_t seed = announced_seed();
    std::atomic<int> not_prevented = 0;
    std::atomic<int> received = 0;
    rt().run([&] {
        const chan<int> over;
        std::vector<std::unique_ptr<timer>> shared;
        wait_group receivers;
        for (int i = 0; i < timers; ++i) {
            shared.push_back(std::make_unique<timer>(1h));
            receivers.go([&, c = shared.back()->chan()] {
                while (weft::select(weft::recv_case(over), weft::recv_case(c)).index() == 1) ++received;
            });
        }
        wait_group all;
        prng seeds(seed);
        for (int k = 0; k < 4; ++k) {
            all.go([&, random = seeds.split()]() mutable {
                for (int i = 0; i < rounds; ++i) {
                    not_prevented += !shared[static_cast<std::size_t>(random.below(timers))]->reset(
                        std::chrono::microseconds(random.below(100)));
                    if (random.one_in(50)) sleep_for(std::chrono::microseconds(random.below(200)));
                }
            });
        }
        all.wait();
        for (const auto& t : shared) not_prevented += !t->stop();
        over.close();
        receivers.wait();
    });
    EXPECT_EQ(received, not_prevented);
}

TEST_P(TimerStorm, FunctionsRunUnlessPrevented) {
    constexpr int timers = 8;
    const int rounds = scaled(3000);
    const uint64_t seed = announced_seed();
    std::atomic<int> not_prevented = 0;
    std::atomic<int> ran = 0;
    rt().run([&] {
        std::vector<timer> shared;
        for (int i = 0; i < timers; ++i) shared.push_back(after_func(1h, [&ran] { ++ran; }));
        wait_group all;
        prng seeds(seed);
        for (int k = 0; k < 4; ++k) {
            all.go([&, random = seeds.split()]() mutable {
                for (int i = 0; i < rounds; ++i) {
                    timer& t = shared[static_cast<std::size_t>(random.below(timers))];
                    not_prevented += !t.reset(std::chrono::microseconds(random.below(100)));
                    if (random.one_in(50)) sleep_for(std::chrono::microseconds(random.below(200)));
                }
            });
        }
        all.wait();
        for (timer& t : shared) not_prevented += !t.stop();
    });
    rt().drain();
    EXPECT_EQ(ran, not_prevented);
}

// Deadlines of waits, sleeps and timers share the queues.
TEST_P(TimerStorm, TimersSleepersAndDeadlinesDoNotDisturbEachOther) {
    const int parties = scaled(60);
    const uint64_t seed = announced_seed();
    std::atomic<int> wrong = 0;
    rt().run([&] {
        wait_group all;
        prng seeds(seed);
        for (int k = 0; k < parties; ++k) {
            all.go([&, k, random = seeds.split()]() mutable {
                const chan<int> never;
                for (int i = 0; i < 40; ++i) {
                    const std::chrono::microseconds delay(random.below(400));
                    const auto start = steady_clock::now();
                    switch ((k + i) % 3) {
                        case 0:
                            sleep_for(delay);
                            break;
                        case 1:
                            wrong += never.recv_for(delay).status != chan_status::timed_out;
                            break;
                        default:
                            wrong += *after(delay).recv() < start + delay;
                    }
                    wrong += steady_clock::now() - start < delay;
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(pending_timers(rt()), 0U);
}

}  // namespace
}  // namespace weft::test
