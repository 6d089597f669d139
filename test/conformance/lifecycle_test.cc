// lifecycle_test.cc: runtimes: start, stop, restart, several at once, and weft::main.

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/tally.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Lifecycle = procs_test;
WEFT_SWEEP(Lifecycle);

TEST_P(Lifecycle, AnUnusedRuntimeStops) {
    EXPECT_TRUE(rt().running());
    EXPECT_EQ(rt().abandon(), 0U);
    EXPECT_FALSE(rt().running());
    EXPECT_EQ(rt().abandon(), 0U);  // again: nothing to do
}

TEST_P(Lifecycle, StartingARunningRuntimeDoesNothing) {
    const chan<int> c;
    park(1, [&] { rt().go([c] { c.recv(); }); });
    rt().start();
    EXPECT_TRUE(rt().running());
    c.send(1);
    rt().drain();
    EXPECT_EQ(rt().stats().finished, 1U);
}

TEST_P(Lifecycle, DrainWaitsForGreenThreadsStartedDuringIt) {
    std::atomic<int> ran = 0;
    rt().go([&] {
        for (int i = 0; i < 20; ++i) {
            go([&] {
                sleep_for(1ms);
                go([&] { ++ran; });
            });
        }
    });
    rt().drain();
    EXPECT_EQ(ran, 20);
}

TEST_P(Lifecycle, DrainOfAnIdleRuntimeReturnsAtOnce) {
    rt().drain();
    rt().run([] {});
    rt().drain();
    rt().drain();
}

TEST_P(Lifecycle, StopReportsWhatItAbandons) {
    const chan<int> unbuffered;
    const chan<int> full(1);
    full.send(0);
    mutex m;
    m.lock();
    wait_group work;
    work.add();
    std::atomic<int> went_on = 0;
    park(7, [&] {
        rt().go([&] { unbuffered.recv(), ++went_on; });
        rt().go([&] { (void)unbuffered.recv_for(1h), ++went_on; });
        rt().go([&] { full.send(1), ++went_on; });
        rt().go([&] { m.lock(), ++went_on; });
        rt().go([&] { work.wait(), ++went_on; });
        rt().go([&] { sleep_for(1h), ++went_on; });
        rt().go([&] { (void)chan<int>::nil().recv(), ++went_on; });
    });
    EXPECT_EQ(rt().abandon(), 7U);

    // What they waited for shows no trace of them.
    EXPECT_EQ(unbuffered.try_send(1), chan_status::would_block);
    EXPECT_EQ(full.try_recv().value, 0);
    EXPECT_EQ(full.try_recv().status, chan_status::would_block);
    EXPECT_EQ(full.try_send(2), chan_status::ok);
    m.unlock();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
    work.done();
    work.wait();
    unbuffered.close();
    EXPECT_EQ(went_on, 0);
}

TEST_P(Lifecycle, AFullChannelAbandonedByItsSendersStillWorks) {
    const chan<int> c(2);
    constexpr int senders = 20;
    park(senders - 2, [&] {
        for (int i = 0; i < senders; ++i) rt().go([&c, i] { c.send(i); });
    });
    rt().abandon();
    EXPECT_EQ(c.len(), 2U);
    std::thread sender([&] {
        for (int i = 100; i < 200; ++i) c.send(i);
        c.close();
    });
    int received = 0;
    int expected = 100;
    for (const int v : c) received += v < 100 || v == expected++;
    EXPECT_EQ(received, 102);
    sender.join();
}

TEST_P(Lifecycle, StopAbandonsGreenThreadsThatNeverStarted) {
    const int rounds = scaled(20);
    for (int round = 0; round < rounds; ++round) {
        std::atomic<uint64_t> ran = 0;
        std::atomic<bool> spawned = false;
        constexpr uint64_t n = 1000;
        rt().go([&] {
            for (uint64_t i = 0; i < n; ++i) {
                go([&ran] {
                    compute_for(20us);
                    ++ran;
                });
            }
            spawned = true;
            ++ran;
        });
        eventually([&] { return spawned.load(); });
        const std::size_t abandoned = rt().abandon();
        EXPECT_EQ(ran + abandoned, n + 1);
        rt().start();
    }
}

TEST_P(Lifecycle, NothingRunsAfterStop) {
    std::atomic<long> turns = 0;
    for (int i = 0; i < 10; ++i) {
        rt().go([&turns] {
            for (;; ++turns) weft::yield();
        });
    }
    eventually([&] { return turns > 100; });
    EXPECT_EQ(rt().abandon(), 10U);
    const long then = turns;
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(turns, then);
}

TEST_P(Lifecycle, AStoppedRuntimeStartsAgain) {
    const int restarts = scaled(50);
    for (int i = 0; i < restarts; ++i) {
        std::atomic<int> ran = 0;
        rt().run([&] {
            wait_group all;
            for (int k = 0; k < 20; ++k) {
                all.go([&ran] {
                    weft::yield();
                    ++ran;
                });
            }
            all.wait();
        });
        ASSERT_EQ(ran, 20);
        rt().drain();
        ASSERT_EQ(rt().abandon(), 0U);
        rt().start();
        ASSERT_TRUE(rt().running());
    }
}

TEST_P(Lifecycle, RestartingWithAbandonedGreenThreadsWorks) {
    const int restarts = scaled(30);
    const chan<int> c;
    for (int i = 0; i < restarts; ++i) {
        park(20, [&] {
            for (int k = 0; k < 10; ++k) {
                rt().go([&c] { c.recv(); });
                rt().go([] { sleep_for(1h); });
            }
        });
        ASSERT_EQ(rt().abandon(), 20U);
        rt().start();
        ASSERT_EQ(rt().stats().live, 0U);
        ASSERT_EQ(rt().run([i] { return i; }), i);
    }
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
}

// Ten restarts fill every cache, then many more follow: the process holds no more than before.
TEST_P(Lifecycle, RestartingLeavesNothingBehind) {
    if (built_with_sanitizer) GTEST_SKIP() << "a sanitizer maps and keeps memory of its own";
    const auto restart = [&](int times) {
        for (int i = 0; i < times; ++i) {
            rt().run([] {
                wait_group all;
                for (int k = 0; k < 100; ++k) all.go([] { weft::yield(); });
                all.wait();
            });
            rt().drain();
            rt().abandon();
            rt().start();
        }
    };
    restart(10);
    rt().abandon();
    const resources before = resources::now();
    rt().start();
    restart(40);
    rt().abandon();
    eventually([&] { return resources::now().threads <= before.threads; });  // the kernel may still be removing one
    const resources after = resources::now();
    EXPECT_EQ(after.fds, before.fds);
    EXPECT_LE(after.mappings, before.mappings + 30);
    EXPECT_LE(after.virtual_kib, before.virtual_kib + 1'500'000);  // less than a slab of stacks per restart
    // Pages of a sanitizer or an emulator are resident too.
    if (!built_with_sanitizer && untouched_pages_are_free()) {
        EXPECT_LE(after.resident_kib, before.resident_kib + 20'000);
    }
}

TEST_P(Lifecycle, OtherThreadsMayReadItWhileItStopsAndStarts) {
    std::atomic<bool> enough = false;
    std::thread looker([&] {
        while (!enough) {
            static_cast<void>(rt().stats());
            EXPECT_LE(rt().procs(), procs());
            static_cast<void>(rt().try_go([] {}));
        }
    });
    for (int round = 0; round < scaled(300); ++round) {
        rt().abandon();
        rt().start();
    }
    enough = true;
    looker.join();
}

TEST_P(Lifecycle, TheDestructorStops) {
    const chan<int> c;
    for (int i = 0; i < 10; ++i) {
        runtime other({.procs = procs()});
        other.go([&c] { c.recv(); });
        other.go([] { sleep_for(1h); });
    }
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
}

TEST_P(Lifecycle, TwoRuntimesCommunicateOverOneChannel) {
    runtime other({.procs = procs(), .name = "other"});
    const int rounds = scaled(1000);
    const chan<int> there;
    const chan<int> back(1);
    other.go([=] {
        for (const int v : there) back.send(v + 1);
        back.close();
    });
    const int sum = rt().run([=] {
        int total = 0;
        for (int i = 0; i < rounds; ++i) {
            there.send(i);
            total += back.recv().value_or(-1) - i;
        }
        there.close();
        return total;
    });
    EXPECT_EQ(sum, rounds);
    other.drain();
    EXPECT_EQ(other.abandon(), 0U);
}

TEST_P(Lifecycle, TwoRuntimesShareAMutexAGroupAndManyMessages) {
    runtime other({.procs = procs()});
    const int each = scaled(2000);
    tally seen(static_cast<std::size_t>(4 * each));
    const chan<int> c(3);
    mutex m;
    long guarded = 0;
    wait_group sending;
    sending.add(4);
    int sender = 0;
    for (runtime* r : {&rt(), &other}) {
        for (int s = 0; s < 2; ++s, ++sender) {
            r->go([&, from = sender * each] {
                for (int i = from; i < from + each; ++i) {
                    c.send(i);
                    const std::lock_guard hold(m);
                    ++guarded;
                }
                sending.done();
            });
            r->go([&] {
                for (const int v : c) seen.mark(static_cast<std::size_t>(v));
            });
        }
    }
    sending.wait();
    c.close();
    rt().drain();
    other.drain();
    EXPECT_TRUE(seen.exactly_once());
    EXPECT_EQ(guarded, 4L * each);
}

TEST_P(Lifecycle, AGreenThreadStaysInItsRuntime) {
    runtime other({.procs = procs()});
    const chan<int> c;
    const uint64_t before = other.stats().spawned;
    rt().run([&] {
        wait_group mine;
        for (int i = 0; i < 10; ++i) {
            mine.go([&] {
                c.send(1);  // whichever thread wakes us, we resume in our runtime
                go([] {});  // and our children start there
                (void)async([] {});
            });
        }
        other.run([&] {
            for (int i = 0; i < 10; ++i) c.recv();
        });
        mine.wait();
    });
    EXPECT_EQ(other.stats().spawned, before + 1);
    rt().drain();
    EXPECT_EQ(rt().stats().spawned, 31U);
}

TEST_P(Lifecycle, StoppingOneRuntimeLeavesTheOtherAlone) {
    const chan<int> c;
    int got = 0;
    rt().go([&] { got = c.recv().value_or(-1); });
    {
        runtime other({.procs = procs()});
        other.go([&c] { c.send(1); });
        other.drain();
        other.go([&c] { c.recv(); });
    }
    rt().drain();
    EXPECT_EQ(got, 1);
}

// Green threads are woken but do not run before the runtime stops: a computation holds the only
// processor until stop() waits for it.
class StoppedAmidWork : private calm, public procs_test {
protected:
    // Starts a G that, once `prepare` has returned in it, computes until the runtime is being
    // stopped. Then stops the runtime.
    template <typename Prepare>
    std::size_t stop_behind_a_computation(Prepare prepare) {
        std::atomic<bool> computing = false;
        std::atomic<bool> release = false;
        rt().go([&] {
            prepare();
            computing = true;
            busily([&] { return release.load(); });
        });
        eventually([&] { return computing.load(); });
        std::size_t abandoned = 0;
        std::thread stopper([&] { abandoned = rt().abandon(); });
        std::this_thread::sleep_for(20ms);  // if stop() has not begun by then, they run after all, which is fine
        release = true;
        stopper.join();
        return abandoned;
    }
};

WEFT_SWEEP_OVER(StoppedAmidWork, 1U);

TEST_P(StoppedAmidWork, ATimedOutWaiterIsOnNoQueue) {
    const chan<int> c;
    std::atomic<int> ran = 0;
    rt().go([&] { (void)c.recv_for(2ms), ++ran; });
    const std::size_t abandoned = stop_behind_a_computation([] {
        weft::yield();
        compute_for(5ms);
        weft::yield();  // the deadline has passed, and it is runnable behind us
    });
    EXPECT_EQ(ran + abandoned, 1U);
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
    EXPECT_EQ(c.try_recv().status, chan_status::would_block);
}

TEST_P(StoppedAmidWork, AWokenWaiterLeavesTheMutexUsable) {
    mutex m;
    std::atomic<int> ran = 0;
    m.lock();
    park(1, [&] {
        rt().go([&] {
            m.lock();
            m.unlock();
            ++ran;
        });
    });
    EXPECT_EQ(ran + stop_behind_a_computation([&m] { m.unlock(); }), 1U);

    m.lock();
    std::thread other([&] {
        m.lock();
        m.unlock();
    });
    std::this_thread::sleep_for(5ms);  // most likely it waits by then
    m.unlock();
    other.join();
}

TEST_P(StoppedAmidWork, ClosuresThatNeverRanAreDestroyed) {
    const long before = tracked::alive();
    std::atomic<int> ran = 0;
    const std::size_t abandoned = stop_behind_a_computation([&] {
        for (int i = 0; i < 10; ++i) {
            go([&ran, t = tracked(i)] { ++ran; });
            go([&ran, t = tracked(i), large = std::array<char, 500>{}] { ran += 1 + large[0]; });
        }
    });
    EXPECT_EQ(ran + abandoned, 20U);
    EXPECT_EQ(tracked::alive(), before);
}

// weft::main: the calling thread becomes the first M.
//
// How the kernel schedules the calling thread, from sched_getattr(); zeros where it does not say.
std::array<uint64_t, 7> slices_of_this_thread() {
    std::array<uint64_t, 7> attributes{};
    if (::syscall(SYS_sched_getattr, 0, attributes.data(), sizeof(attributes), 0) != 0) return {};
    return attributes;
}

class Main : public ::testing::TestWithParam<unsigned> {
protected:
    [[nodiscard]] static runtime_options options() { return {.procs = GetParam()}; }
};

WEFT_SWEEP(Main);

TEST_P(Main, ReturnsWhatTheBodyReturns) {
    EXPECT_EQ(weft::main(options(), [] { return 42; }), 42);
    EXPECT_EQ(weft::main(options(), [] {}), 0);
}

TEST_P(Main, WorksWithTheDefaultOptions) {
    EXPECT_EQ(weft::main([] { return async([] { return 3; }).get(); }), 3);
}

// weft::main restores the thread's settings that it changed to run green threads.
TEST_P(Main, RestoresTheStateOfTheThread) {
    if (emulated) GTEST_SKIP() << "how threads are scheduled is the emulator's";
    std::thread([] {
        constexpr unsigned long mine_ns = 123'000;
        if (::prctl(PR_SET_TIMERSLACK, mine_ns) != 0) GTEST_SKIP() << "this system sets no timer slack";
        const auto slices = slices_of_this_thread();
        EXPECT_EQ(weft::main(options(), [] {}), 0);
        EXPECT_EQ(::prctl(PR_GET_TIMERSLACK), static_cast<int>(mine_ns));
        EXPECT_EQ(slices_of_this_thread(), slices);
    }).join();
}

TEST_P(Main, RethrowsAnExceptionOfTheBody) {
    EXPECT_THROW(weft::main(options(), [] { throw std::runtime_error("frayed"); }), std::runtime_error);
    EXPECT_EQ(weft::main(options(), [] { return 1; }), 1);
}

TEST_P(Main, TheMainGreenThreadIsNumberOne) {
    uint64_t id = 0;
    weft::main(options(), [&] { id = this_g::id(); });
    EXPECT_EQ(id, 1U);
    weft::main(options(), [&] { id = this_g::id(); });
    EXPECT_EQ(id, 1U);
}

TEST_P(Main, StartsAndEndsOnTheCallingThread) {
    const int caller = os_thread_id();
    int first = 0;
    weft::main(options(), [&] {
        first = os_thread_id();
        for (int i = 0; i < 50; ++i) weft::yield();
        sleep_for(1ms);
    });
    EXPECT_EQ(first, caller);
    EXPECT_EQ(os_thread_id(), caller);
    EXPECT_EQ(this_g::id(), 0U);
}

TEST_P(Main, AbandonsRemainingGreenThreads) {
    const chan<int> c;
    std::atomic<long> turns = 0;
    weft::main(options(), [&] {
        for (int i = 0; i < 10; ++i) {
            go([&c] { c.recv(); });
            go([] { sleep_for(1h); });
            go([&turns] {
                for (;; ++turns) weft::yield();
            });
        }
        eventually([&] { return turns > 100; });
    });
    const long then = turns;
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(turns, then);
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
}

TEST_P(Main, ReturnsWhileOtherGreenThreadsCompute) {
    std::atomic<bool> release = false;
    std::thread later([&] {
        std::this_thread::sleep_for(20ms);
        release = true;
    });
    weft::main(options(), [&] {
        for (unsigned i = 1; i < GetParam(); ++i) {
            go([&release] { busily([&] { return release.load(); }); });
        }
        weft::yield();
    });
    later.join();
}

TEST_P(Main, CanBeCalledAgainAndAgain) {
    const int times = scaled(50);
    for (int i = 0; i < times; ++i) {
        ASSERT_EQ(weft::main(options(),
                             [i] {
                                 const chan<int> c;
                                 go([c, i] { c.send(i); });
                                 return c.recv().value_or(-1);
                             }),
                  i);
    }
}

TEST_P(Main, PlainThreadsStartGreenThreadsInIt) {
    std::atomic<uint64_t> spawned = 0;
    weft::main(options(), [&] {
        const chan<int> c(10);
        std::thread outside([c] {
            for (int i = 0; i < 10; ++i) go([c, i] { c.send(i); });
        });
        int sum = 0;
        for (int i = 0; i < 10; ++i) sum += c.recv().value_or(0);
        EXPECT_EQ(sum, 45);
        outside.join();
        spawned = stats().spawned;
    });
    EXPECT_EQ(spawned, 11U);
}

TEST_P(Main, WorksFromAnyPlainThread) {
    int result = 0;
    std::thread other([&] { result = weft::main(options(), [] { return async([] { return 5; }).get(); }); });
    other.join();
    EXPECT_EQ(result, 5);
}

}  // namespace
}  // namespace weft::test
