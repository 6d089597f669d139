// debug_test.cc: dumps and statistics report the actual state.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/captured.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Debug = procs_test;
WEFT_SWEEP(Debug);

TEST_P(Debug, TheDumpNamesEveryGreenThreadOnceWithItsReason) {
    const chan<int> empty;
    const chan<int> full(1);
    full.send(0);
    mutex m;
    m.lock();
    wait_group work;
    work.add();
    park_off_thread(5, [&] {
        rt().go({.name = "q-receiver"}, [&] { empty.recv(); });
        rt().go({.name = "q-sender"}, [&] { full.send(1); });
        rt().go({.name = "q-locker"}, [&] {
            m.lock();
            m.unlock();
        });
        rt().go({.name = "q-joiner"}, [&] { work.wait(); });
        rt().go({.name = "q-sleeper"}, [&] { sleep_for(30ms); });
    });
    const std::string dump = written_by([&](int fd) { rt().dump(fd); });
    for (const auto& [name, reason] : {
             std::pair("q-receiver", "receive"),
             std::pair("q-sender", "send"),
             std::pair("q-locker", "mutex"),
             std::pair("q-joiner", "wait"),
         }) {
        EXPECT_EQ(occurrences(dump, name), 1U) << dump;
        EXPECT_NE(section_of(dump, name).find(reason), std::string::npos) << name << " in:\n" << dump;
    }
    EXPECT_LE(occurrences(dump, "q-sleeper"), 1U);  // it may have woken by then
    empty.send(1);
    full.recv();
    m.unlock();
    work.done();
    rt().drain();
}

TEST_P(Debug, TheDumpShowsWhereAGreenThreadWasStarted) {
    const chan<int> c;
    int line = 0;
    park_off_thread(1, [&] {
        line = __LINE__ + 1;
        rt().go({.name = "native"}, [&] { c.recv(); });
    });
    const std::string place = "debug_test.cc:" + std::to_string(line);
    const std::string dump = written_by([&](int fd) { rt().dump(fd); });
    EXPECT_NE(section_of(dump, "native").find(place), std::string::npos) << dump;
    c.send(1);
    rt().drain();
}

TEST_P(Debug, TheDumpListsAsManyGreenThreadsAsAreLive) {
    const chan<int> c;
    constexpr int n = 50;
    park_off_thread(n, [&] {
        for (int i = 0; i < n; ++i) rt().go({.name = "one-of-many"}, [&] { c.recv(); });
    });
    const std::string dump = written_by([&](int fd) { rt().dump(fd, {.grouped = false}); });
    EXPECT_EQ(rt().stats().live, uint64_t{n});
    EXPECT_EQ(occurrences(dump, "one-of-many"), std::size_t{n}) << dump;
    const std::string grouped = written_by([&](int fd) { rt().dump(fd); });
    EXPECT_EQ(occurrences(grouped, "50 green threads \"one-of-many\" [chan receive"), 1U) << grouped;
    c.close();
    rt().drain();
}

TEST_P(Debug, AGreenThreadCanDumpItsOwnRuntime) {
    const std::string dump = written_by([&](int fd) {
        rt().run([fd] {
            const chan<int> c;
            go({.name = "beside"}, [c] { c.recv(); });
            weft::yield();
            weft::dump(fd);
            c.close();
        });
    });
    EXPECT_EQ(occurrences(dump, "beside"), 1U) << dump;
}

TEST_P(Debug, DumpsUnderLoadAreSafe) {
    std::atomic<bool> stop = false;
    std::atomic<long> messages = 0;
    for (int pair = 0; pair < 4; ++pair) {
        const chan<int> c;
        rt().go([&stop, c] {
            while (!stop) c.send(1);
            c.close();
        });
        rt().go([&messages, c] {
            for ([[maybe_unused]] const int v : c) ++messages;
        });
        rt().go([&stop] {
            while (!stop) {
                wait_group w;
                w.go([] { sleep_for(10us); });
                w.wait();
            }
        });
    }
    const int dumps = scaled(8);
    for (int i = 0; i < dumps; ++i) {
        const std::string dump =
            written_by([&](int fd) { i % 2 == 0 ? rt().dump(fd) : rt().run([fd] { weft::dump(fd); }); });
        EXPECT_FALSE(dump.empty());
    }
    const long then = messages;
    eventually([&] { return messages > then; });
    stop = true;
    rt().drain();
}

TEST_P(Debug, CountersCountEvents) {
    const stats_snapshot before = rt().stats();
    rt().run([] {
        wait_group all;
        for (int i = 0; i < 100; ++i) {
            all.go([] {
                weft::yield();
                sleep_for(1ms);
            });
        }
        all.wait();
    });
    rt().drain();
    const stats_snapshot after = rt().stats();
    EXPECT_EQ(after.spawned, before.spawned + 101);
    EXPECT_EQ(after.finished, before.finished + 101);
    EXPECT_EQ(after.live, 0U);
    EXPECT_GT(after.parks,
              before.parks + 1);  // not 100 more: if the machine stalls, a sleep may be over before it begins
    EXPECT_GE(after.switches, before.switches + 200);
    EXPECT_GE(after.timers_fired - before.timers_fired, after.parks - before.parks - 1)
        << "all parks but that of wait()";
    EXPECT_GE(after.g_cache_hits + after.g_cache_misses, before.g_cache_hits + before.g_cache_misses + 101);
}

TEST_P(Debug, StealsAreCountedWithSeveralProcessors) {
    rt().run([this] {
        wait_group all;
        for (unsigned i = 0; i < 4 * procs(); ++i) {
            all.go([] { compute_for(2ms); });
        }
        all.wait();
    });
    const stats_snapshot s = rt().stats();
    if (procs() == 1) {
        EXPECT_EQ(s.steals, 0U);
    } else {
        EXPECT_GT(s.steals + s.global_gets, 0U);
    }
}

// A G that spawns 2000 others fills its P's queue, if it keeps its P, or others steal from it.
class DebugWithoutPreemption : private no_preemption, public procs_test {};

WEFT_SWEEP(DebugWithoutPreemption);

TEST_P(DebugWithoutPreemption, AnOverflowingQueueIsCounted) {
    rt().run([] {
        wait_group all;
        for (int i = 0; i < 2000; ++i) all.go([] {});
        all.wait();
    });
    EXPECT_GT(rt().stats().overflows + rt().stats().steals, 0U);
}

TEST_P(Debug, GaugesFollowAScenario) {
    const chan<int> c;
    park(10, [&] {
        for (int i = 0; i < 10; ++i) rt().go([&] { c.recv(); });
    });
    const stats_snapshot parked = rt().stats();
    EXPECT_EQ(parked.live, 10U);
    EXPECT_GE(parked.stacks_mapped, 10U);
    EXPECT_EQ(parked.procs, procs());
    eventually([&] { return rt().stats().procs_idle == procs(); });  // no G is runnable
    eventually([&] { return rt().stats().threads_spinning == 0; });
    c.close();
    rt().drain();
}

TEST_P(Debug, ThreadsOfTheRuntimeAreCountedAndEnd) {
    const std::size_t before = resources::now().threads - rt().stats().threads;
    rt().run([this] {
        wait_group all;
        for (unsigned i = 0; i < procs(); ++i) all.go([] { compute_for(3ms); });
        all.wait();
    });
    EXPECT_GE(rt().stats().threads, 1U);
    rt().abandon();
    eventually([&] { return resources::now().threads <= before; });  // the kernel may still be removing one
}

// A process in which every green thread waits uses no CPU.
TEST_P(Debug, AnIdleRuntimeUsesNoProcessor) {
    const chan<int> c;
    park(100, [&] {
        for (int i = 0; i < 100; ++i) rt().go([&] { c.recv(); });
    });
    eventually([&] { return rt().stats().procs_idle == procs() && rt().stats().threads_spinning == 0; });
    std::this_thread::sleep_for(20ms);  // threads that were about to go idle have done so
    const stats_snapshot before = rt().stats();
    std::this_thread::sleep_for(50ms);
    const stats_snapshot after = rt().stats();
    EXPECT_EQ(after.switches, before.switches);
    EXPECT_EQ(after.steal_rounds, before.steal_rounds);
    EXPECT_EQ(after.wakes, before.wakes);
    c.close();
    rt().drain();
}

}  // namespace
}  // namespace weft::test
