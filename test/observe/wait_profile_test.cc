// wait_profile_test.cc: profiles of waits by stack.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

#include <weft/observe/recorder.h>
#include <weft/observe/wait_profile.h>
#include <weft/weft.h>

#include "base/prng.h"
#include "observe/pprof_reader.h"
#include "observe/wait_sampling.h"
#include "support/build.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using observe::wait_profile_options;
using observe::wait_profiler;

constexpr wait_profile_options all{.block_rate = 1ns, .mutex_fraction = 1};

[[gnu::noinline]] int wait_for_value(const chan<int>& c) {
    const int value = c.recv().value_or(0);
    asm volatile("" ::: "memory");
    return value;
}

[[gnu::noinline]] void wait_for_lock(mutex& m) {
    m.lock();
    asm volatile("" ::: "memory");
}

[[gnu::noinline]] void unlock_at_last(mutex& m) {
    m.unlock();
    asm volatile("" ::: "memory");
}

auto in(std::string_view function) {
    return [function](const read_sample& s) { return s.has(function); };
}

auto labelled(const char* key, const char* value) {
    return [key, value](const read_sample& s) { return s.label(key) == value; };
}

class WaitProfile : public ::testing::Test {
protected:
    void SetUp() override {
        if (emulated) GTEST_SKIP() << "no names under the emulator";
    }
};

TEST_F(WaitProfile, CountsWaitsByTheStackOfTheWaiter) {
    runtime rt({.procs = 1});
    const wait_profiler waits(rt, all);
    const chan<int> c;
    constexpr int count = 5;
    const auto before = std::chrono::steady_clock::now();
    rt.run([&] {
        wait_group receivers;
        for (int i = 0; i < count; ++i) receivers.go([c] { wait_for_value(c); });
        while (rt.stats().waiting < count) yield();
        sleep_for(20ms);
        for (int i = 0; i < count; ++i) c.send(i);
        receivers.wait();
    });
    const auto longest = std::chrono::steady_clock::now() - before;
    const read_profile p = read_pprof(waits.block().bytes());
    EXPECT_EQ(p.types, (std::vector<std::string>{"contentions/count", "delay/nanoseconds"}));
    EXPECT_EQ(p.sum(0, in("wait_for_value")), count);
    EXPECT_GE(p.sum(1, in("wait_for_value")), count * std::chrono::nanoseconds(20ms).count());
    EXPECT_LE(p.sum(1, in("wait_for_value")), count * std::chrono::nanoseconds(longest).count());
    EXPECT_EQ(p.sum(0, labelled("wait_reason", "chan receive")), count);
    EXPECT_EQ(p.sum(0, labelled("wait_reason", "sleep")), 1);
    for (const read_sample& s : p.samples) {
        if (!s.has("wait_for_value")) continue;
        EXPECT_TRUE(s.is_in("weft::chan<int>::recv")) << s.stack.front().function;
    }
    EXPECT_TRUE(read_pprof(waits.mutex().bytes()).samples.empty());
}

TEST_F(WaitProfile, CountsWaitsForMutexesByTheStackOfTheUnlock) {
    // With two Ps, a green thread may be counted as waiting a moment before its wait begins.
    runtime rt({.procs = 1});
    const wait_profiler waits(rt, all);
    mutex m;
    rt.run([&] {
        m.lock();
        wait_group others;
        others.go([&] {
            wait_for_lock(m);
            m.unlock();
        });
        while (rt.stats().waiting < 1) yield();
        sleep_for(20ms);
        unlock_at_last(m);
        others.wait();
    });
    const read_profile p = read_pprof(waits.mutex().bytes());
    EXPECT_EQ(p.sum(0, in("unlock_at_last")), 1);
    EXPECT_GE(p.sum(1, in("unlock_at_last")), std::chrono::nanoseconds(20ms).count());
    EXPECT_EQ(p.sum(0, in("wait_for_lock")), 0);
    EXPECT_EQ(p.sum(0, labelled("wait_reason", "mutex lock")), 1);
    EXPECT_EQ(read_pprof(waits.block().bytes()).sum(0, in("wait_for_lock")), 1);
}

TEST_F(WaitProfile, CountsWaitsThatPlainThreadsEnd) {
    runtime rt({.procs = 1});
    const wait_profiler waits(rt, all);
    const chan<int> c;
    mutex m;
    m.lock();
    rt.go([c] { wait_for_value(c); });
    rt.go([&] {
        wait_for_lock(m);
        m.unlock();
    });
    eventually([&] { return rt.stats().waiting == 2; });
    c.send(1);
    m.unlock();
    rt.drain();
    EXPECT_EQ(read_pprof(waits.block().bytes()).sum(0, in("wait_for_value")), 1);
    const read_profile p = read_pprof(waits.mutex().bytes());
    EXPECT_EQ(p.sum(0), 1);
    EXPECT_EQ(p.sum(0, in("a thread without a processor")), 1);
}

TEST_F(WaitProfile, LeavesOutYieldsAndWaitsThatBeganBefore) {
    runtime rt({.procs = 1});
    const chan<int> c;
    rt.go([c] {
        wait_for_value(c);
        for (int i = 0; i < 100; ++i) yield();
    });
    eventually([&] { return rt.stats().waiting == 1; });
    {
        const wait_profiler first(rt, all);
        rt.go([c] { wait_for_value(c); });
        eventually([&] { return rt.stats().waiting == 2; });
    }
    const wait_profiler waits(rt, all);
    c.send(1);
    c.send(2);
    rt.drain();
    EXPECT_EQ(read_pprof(waits.block().bytes()).sum(0), 0);
}

TEST_F(WaitProfile, LeavesOutOtherRuntimes) {
    runtime rt({.procs = 1});
    runtime other({.procs = 1});
    const observe::recorder recorder(other);  // its green threads are traced, too
    const wait_profiler waits(rt, all);
    other.run([] { sleep_for(1ms); });
    EXPECT_EQ(read_pprof(waits.block().bytes()).sum(0), 0);
    rt.run([] { sleep_for(1ms); });
    EXPECT_EQ(read_pprof(waits.block().bytes()).sum(0), 1);
}

TEST_F(WaitProfile, TakesPartWithARecorder) {
    runtime rt({.procs = 1});
    auto waits = std::make_unique<wait_profiler>(rt, all);
    {
        const observe::recorder recorder(rt);
        rt.run([] { sleep_for(1ms); });
    }
    rt.run([] { sleep_for(1ms); });
    EXPECT_EQ(read_pprof(waits->block().bytes()).sum(0), 2) << "the end of a recorder does not end the profile";
    const observe::recorder recorder(rt);
    waits.reset();
    rt.run([] { sleep_for(1ms); });
    const read_profile p = read_pprof(observe::blocking_profile(recorder.snapshot()).bytes());
    EXPECT_EQ(p.sum(0, in("sleep")), 1) << "the end of the profile does not end a recorder";
}

TEST_F(WaitProfile, SamplesWhileGreenThreadsStartSwitchAndEnd) {
    runtime rt({.procs = 4});
    rt.run([] {
        const chan<int> c(1);
        wait_group all_of_them;
        for (int i = 0; i < 8; ++i) {
            all_of_them.go([c, i] {
                for (int k = 0; k < 500; ++k) {
                    if (i % 2 == 0) {
                        c.send(k);
                    } else {
                        wait_for_value(c);
                    }
                }
            });
        }
        for (int i = 0; i < 20; ++i) {
            const wait_profiler waits({.block_rate = 100ns, .mutex_fraction = 1});
            yield();
            static_cast<void>(waits.block());
        }
        all_of_them.wait();
    });
}

TEST_F(WaitProfile, SecondOneIsRefused) {
    runtime rt({.procs = 1});
    {
        const wait_profiler waits(rt);
        try {
            const wait_profiler second(rt);
            ADD_FAILURE() << "a second profiler began";
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::device_or_resource_busy);
        }
    }
    const wait_profiler next(rt);
}

TEST_F(WaitProfile, BadOptionsAreRefused) {
    runtime rt({.procs = 1});
    EXPECT_THROW(wait_profiler(rt, {.block_rate = -1ns}), std::invalid_argument);
    EXPECT_THROW(wait_profiler(rt, {.block_rate = 0ns, .mutex_fraction = 0}), std::invalid_argument);
    rt.abandon();
    EXPECT_THROW(wait_profiler{rt}, std::logic_error);
}

TEST_F(WaitProfile, OutlivesItsRuntime) {
    auto rt = std::make_unique<runtime>(runtime_options{.procs = 1});
    const wait_profiler waits(*rt, all);
    rt->run([] { sleep_for(1ms); });
    rt.reset();
    EXPECT_EQ(read_pprof(waits.block().bytes()).sum(0), 1);
}

// For pprof_check.py.
TEST_F(WaitProfile, WritesFilesForOtherPrograms) {
    const char* const folder = std::getenv("WEFT_TEST_PROFILES");
    if (folder == nullptr) GTEST_SKIP() << "pprof_check.py runs this";
    runtime rt({.procs = 2});
    const wait_profiler waits(rt, all);
    mutex m;
    const chan<int> c;
    rt.run([&] {
        m.lock();
        wait_group others;
        others.go([&] {
            wait_for_lock(m);
            m.unlock();
        });
        others.go([c] { wait_for_value(c); });
        while (rt.stats().waiting < 2) yield();
        unlock_at_last(m);
        c.send(1);
        others.wait();
    });
    waits.block().write(std::string(folder) + "/waits.pb");
    waits.mutex().write(std::string(folder) + "/mutex.pb");
}

// ---- Sampling.

// The mean of what many waits of one duration add.
template <typename Sample>
observe::detail::weighted_wait mean_of(Sample sample) {
    constexpr int draws = 1'000'000;
    weft::detail::prng random(1);
    double count = 0;
    double ns = 0;
    for (int i = 0; i < draws; ++i) {
        const observe::detail::weighted_wait w = sample(random.next());
        count += w.count;
        ns += static_cast<double>(w.ns);
    }
    return {count / draws, static_cast<int64_t>(ns / draws)};
}

TEST(WaitSampling, ByDurationIsUnbiased) {
    for (const int64_t ns : {100, 2'500, 9'999, 10'000, 12'345}) {
        const auto mean =
            mean_of([ns](uint32_t random) { return observe::detail::sample_by_duration(ns, 10'000, random); });
        EXPECT_NEAR(mean.count, 1, 0.05) << ns;
        EXPECT_NEAR(static_cast<double>(mean.ns), static_cast<double>(ns), static_cast<double>(ns) * 0.05) << ns;
    }
}

TEST(WaitSampling, LongWaitsAreAlwaysSampled) {
    for (const uint32_t random : {0U, 1U, 0x7fffffffU, 0xffffffffU}) {
        const auto w = observe::detail::sample_by_duration(10'000, 10'000, random);
        EXPECT_EQ(w.count, 1);
        EXPECT_EQ(w.ns, 10'000);
    }
}

TEST(WaitSampling, WaitsWithoutTimeCount) {
    const auto w = observe::detail::sample_by_duration(0, 1, 0xffffffff);
    EXPECT_EQ(w.count, 1);
    EXPECT_EQ(w.ns, 1);
}

TEST(WaitSampling, ByCountIsUnbiased) {
    for (const uint32_t fraction : {1U, 2U, 10U, 1000U}) {
        const auto mean =
            mean_of([fraction](uint32_t random) { return observe::detail::sample_by_count(500, fraction, random); });
        EXPECT_NEAR(mean.count, 1, 0.15) << fraction;
        EXPECT_NEAR(static_cast<double>(mean.ns), 500, 75) << fraction;
    }
}

}  // namespace
}  // namespace weft::test
