// timer_after_func_test.cc: functions that run later.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "os/os.h"
#include "support/eventually.h"
#include "support/pending_timers.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class TimerAfterFunc : public procs_test {
protected:
    void TearDown() override {
        procs_test::TearDown();
        EXPECT_EQ(tracked::alive(), alive_before_);
    }

private:
    const long alive_before_ = tracked::alive();
};

WEFT_SWEEP(TimerAfterFunc);

TEST_P(TimerAfterFunc, RunsOnItsOwnGreenThreadNoEarlierThanRequested) {
    rt().run([] {
        const chan<std::pair<uint64_t, steady_clock::time_point>> ran(1);
        for (const auto delay : {0ns, 30'000ns, 1'000'000ns, 5'000'000ns}) {
            const auto start = steady_clock::now();
            const timer t = after_func(delay, [ran] { ran.send({this_g::id(), steady_clock::now()}); });
            const auto [id, at] = *ran.recv();
            EXPECT_NE(id, 0U);
            EXPECT_NE(id, this_g::id());
            EXPECT_GE(at, start + delay);
        }
    });
}

TEST_P(TimerAfterFunc, ItsFunctionMayBlock) {
    rt().run([] {
        const chan<int> c;
        const timer t = after_func(0ns, [c] {
            sleep_for(1ms);
            c.send(7);
        });
        EXPECT_EQ(c.recv(), 7);
    });
}

TEST_P(TimerAfterFunc, StopReturnsTrueIffACallWasPrevented) {
    const int rounds = scaled(2000);
    const uint64_t seed = announced_seed();
    std::atomic<int> ran = 0;
    int prevented = 0;
    rt().run([&] {
        prng random(seed);
        for (int i = 0; i < rounds; ++i) {
            timer t = after_func(std::chrono::microseconds(random.below(60)), [&ran] { ++ran; });
            if (random.one_in(2)) sleep_for(std::chrono::microseconds(random.below(60)));
            prevented += t.stop();
            EXPECT_FALSE(t.stop());
        }
    });
    rt().drain();
    EXPECT_EQ(ran + prevented, rounds);
    EXPECT_EQ(pending_timers(rt()), 0U);
}

TEST_P(TimerAfterFunc, ResetReturnsTrueIffACallWasPrevented) {
    const int rounds = scaled(2000);
    const uint64_t seed = announced_seed();
    std::atomic<int> ran = 0;
    int prevented = 0;
    rt().run([&] {
        prng random(seed);
        timer t = after_func(0ns, [&ran] { ++ran; });
        for (int i = 0; i < rounds; ++i) {
            if (random.one_in(2)) sleep_for(std::chrono::microseconds(random.below(60)));
            prevented += t.reset(std::chrono::microseconds(random.below(60)));
        }
        prevented += t.stop();
    });
    rt().drain();
    EXPECT_EQ(ran + prevented, rounds + 1);
}

TEST_P(TimerAfterFunc, TheFunctionMayResetItsOwnTimer) {
    rt().run([] {
        const chan<int> done;
        int calls = 0;
        std::optional<timer> t;
        mutex ready;
        ready.lock();
        t = after_func(10us, [&, done] {
            std::unique_lock until_it_is_there(ready);
            if (++calls < 20) {
                EXPECT_FALSE(t->reset(10us));
                return;
            }
            until_it_is_there.unlock();  // destroyed as soon as the value is received
            done.send(20);
        });
        ready.unlock();
        EXPECT_EQ(done.recv(), 20);
    });
}

TEST_P(TimerAfterFunc, TheFunctionMayDestroyItsOwnTimer) {
    const int rounds = scaled(500);
    rt().run([rounds] {
        const chan<int> done;
        for (int i = 0; i < rounds; ++i) {
            auto t = std::make_shared<timer>();
            const chan<std::shared_ptr<timer>> hand_over(1);
            *t = after_func(1us, [hand_over, done, alive = tracked(i)] {
                auto own = hand_over.recv();
                own->reset();  // the last one
                done.send(alive.value);
            });
            hand_over.send(std::move(t));
            EXPECT_EQ(done.recv(), i) << "what it holds lives until it has returned";
        }
    });
}

TEST_P(TimerAfterFunc, DroppingTheTimerStopsItAndDestroysTheFunction) {
    const long before = tracked::alive();
    std::atomic<int> ran = 0;
    int due_before_the_drop = 0;  // if the machine had no time for us
    rt().run([&] {
        constexpr auto delay = 10ms;
        for (int i = 0; i < 10; ++i) {
            const auto start = steady_clock::now();
            {
                const timer t = after_func(delay, [&ran, held = tracked(i)] { ++ran; });
                const long alive = tracked::alive();
                if (steady_clock::now() - start < delay) {
                    EXPECT_EQ(alive, before + 1);
                }
            }
            due_before_the_drop += steady_clock::now() - start >= delay ? 1 : 0;
            eventually([&] { return tracked::alive() == before; });
        }
        after(2 * delay).recv();
    });
    EXPECT_LE(ran, due_before_the_drop);
    EXPECT_EQ(pending_timers(rt()), 0U);
}

TEST_P(TimerAfterFunc, ARunningCallKeepsTheFunctionAlive) {
    const long before = tracked::alive();
    const chan<int> go_on;
    const chan<int> runs;
    rt().run([&] {
        {
            timer t = after_func(0ns, [&, held = tracked(7)] {
                runs.send(0);
                go_on.recv();
                runs.send(held.value);
            });
            runs.recv();
            EXPECT_FALSE(t.stop()) << "it runs";
        }
        EXPECT_EQ(tracked::alive(), before + 1);
        go_on.send(0);
        EXPECT_EQ(runs.recv(), 7);
    });
    rt().drain();
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(TimerAfterFunc, ADetachedFunctionRunsWithoutItsTimer) {
    const int n = scaled(1000);
    const long before = tracked::alive();
    std::atomic<int> ran = 0;
    rt().run([&] {
        for (int i = 0; i < n; ++i) {
            after_func(std::chrono::microseconds(i % 500), [&ran, held = tracked(i)] { ++ran; }).detach();
        }
    });
    eventually([&] { return ran == n; });
    rt().drain();
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(TimerAfterFunc, ADetachedFunctionThatNeverFiresIsDestroyed) {
    const long before = tracked::alive();
    rt().run([] {
        after_func(std::chrono::hours::max(), [held = tracked(1)] {}).detach();
        timer t = after_func(1h, [held = tracked(2)] {});
        t.stop();
        t.detach();
    });
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(TimerAfterFunc, ItsChannelIsNil) {
    rt().run([] {
        const timer t = after_func(1h, [] {});
        EXPECT_EQ(t.chan().try_recv().status, chan_status::would_block);
        EXPECT_EQ(t.chan().cap(), 0U);
    });
}

TEST_P(TimerAfterFunc, FunctionsMayHaveAnySizeAndAlignment) {
    struct alignas(64) wide {
        char bytes[300];
    };

    rt().run([] {
        const chan<bool> done;
        wide w{};
        w.bytes[299] = 42;
        const timer t = after_func(
            1us, [w, done] { done.send(w.bytes[299] == 42 && reinterpret_cast<uintptr_t>(&w) % alignof(wide) == 0); });
        EXPECT_EQ(done.recv(), true);
    });
}

TEST_P(TimerAfterFunc, AFailedCopyLeavesNothingBehind) {
    struct stubborn {
        tracked held{1};
        stubborn() = default;

        stubborn(const stubborn& other) : held(other.held.value) { throw std::runtime_error("no copies"); }

        void operator()() const {}
    };

    rt().run([] {
        const stubborn f;
        EXPECT_THROW(static_cast<void>(after_func(1us, f)), std::runtime_error);
    });
    EXPECT_EQ(pending_timers(rt()), 0U);
}

TEST_P(TimerAfterFunc, PlainThreadsMaySetThem) {
    std::atomic<int> ran = 0;
    std::atomic<uint64_t> id = 0;
    timer t = after_func(1ms, [&] {
        id = this_g::id();
        ++ran;
    });
    eventually([&] { return ran == 1; });
    EXPECT_NE(id, 0U);
    EXPECT_FALSE(t.reset(1h));
    EXPECT_TRUE(t.stop());
    EXPECT_FALSE(t.reset(1us));
    eventually([&] { return ran == 2; });
}

TEST_P(TimerAfterFunc, AnExternalResetKeepsTheRuntimeOfTheTimer) {
    std::atomic<bool> ran = false;
    const uint64_t before = rt().stats().finished;
    timer t = rt().run([&] { return after_func(1h, [&] { ran = true; }); });
    runtime other({.procs = 1, .name = "other"});
    other.run([&] { EXPECT_TRUE(t.reset(2h)); });
    EXPECT_TRUE(t.reset(1ms));
    eventually([&] { return ran.load(); });
    rt().drain();
    EXPECT_EQ(rt().stats().finished, before + 2);  // it, and the G that made it
}

// A pair that proceeds through timers, beside yielders, however few processors there are.
TEST_P(TimerAfterFunc, AChainOfTimersProgressesBesideYielders) {
    const int links = rt().run([] {
        std::atomic<bool> stop = false;
        std::atomic<int> done = 0;
        wait_group all;
        for (int i = 0; i < 2; ++i) {
            all.go([&] {
                const chan<int> next;
                while (!stop) {
                    const timer t = after_func(1us, [&next] { next.send(1); });
                    weft::yield();
                    next.recv();
                    ++done;
                }
            });
        }
        sleep_for(20ms);
        stop = true;
        all.wait();
        return done.load();
    });
    EXPECT_GT(links, 4);
}

// Calls for which there is no memory when they fire are made as soon as there is.
TEST_P(TimerAfterFunc, AShortageOfMemoryOnlyDelaysCalls) {
    const int n = scaled(2000);
    std::atomic<int> ran = 0;
    std::vector<timer> timers;
    rt().run([&] {
        timers.reserve(static_cast<std::size_t>(n));
        for (int i = 0; i < n; ++i) {
            timers.push_back(after_func(2ms, [&ran] {
                ++ran;
                sleep_for(1ms);  // makes each of them need a stack
            }));
        }
    });
    weft::detail::os::fail_nth_for_test(weft::detail::os::failure::map, 1);
    eventually([&] { return ran == n; });
    weft::detail::os::fail_nth_for_test(weft::detail::os::failure::map, 0);
    rt().drain();
}

}  // namespace
}  // namespace weft::test
