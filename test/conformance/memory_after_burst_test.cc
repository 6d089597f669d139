// memory_after_burst_test.cc: after a burst of green threads their memory goes back to the system;
// while a load oscillates, none does.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "sched/current.h"
#include "sched/scheduler.h"
#include "sched/switch.h"
#include "sched/trim.h"
#include "support/build.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/units.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t mib_in_kib = 1024;

// Memory of page tables, in KiB.
std::size_t page_tables_kib() {
    std::ifstream status("/proc/self/status");
    std::string key;
    while (status >> key) {
        std::size_t value = 0;
        if (key == "VmPTE:" && status >> value) return value;
        std::getline(status, key);
    }
    return 0;
}

class MemoryAfterBurst : public ::testing::TestWithParam<unsigned> {
protected:
    [[nodiscard]] runtime_options with(std::chrono::nanoseconds idle) const {
        return {.procs = GetParam(), .memory_idle = idle};
    }

    void SetUp() override {
        if (built_with_sanitizer) GTEST_SKIP() << "whose own memory comes and goes";
        if (emulated) GTEST_SKIP() << "whose memory is the emulator's";
        give_heap_back();
    }

    // What the user of a server expects after a peak, but sooner: the bound is patience().
    static void expect_back_at(std::size_t before_kib, std::size_t page_tables) {
        eventually([&] {
            return resources::now().resident_kib <= before_kib + before_kib / 10 + 8 * mib_in_kib &&
                   page_tables_kib() <= page_tables + 4 * mib_in_kib;
        });
    }
};

WEFT_SWEEP_OVER(MemoryAfterBurst, 1U, 2U, 4U);

// Starts count green threads that use `depth` bytes of stack and then wait, and lets them go.
// Returns the resident memory during the wait.
std::size_t burst(int count, std::size_t depth) {
    event gate;
    wait_group all;
    std::atomic<int> arrived{0};
    for (int i = 0; i < count; ++i) {
        all.go([&] {
            auto* const below = static_cast<volatile char*>(__builtin_frame_address(0));
            for (std::size_t at = kib; at < depth; at += kib) below[-static_cast<std::ptrdiff_t>(at)] = 1;
            ++arrived;
            gate.wait();
        });
    }
    eventually([&] { return arrived == count; });
    const std::size_t resident = resources::now().resident_kib;
    gate.set();
    all.wait();
    return resident;
}

// One complete trimming round of the caller's runtime, which otherwise keeps its memory.
void make_round() {
    while (detail::trim_memory(*detail::current_m()->home).more) {}
}

TEST_P(MemoryAfterBurst, StacksPageTablesAndGsAreReturned) {
    const int count = scaled(60'000);
    runtime rt(with(20ms));
    rt.run([&] {
        const std::size_t before = resources::now().resident_kib;
        const std::size_t page_tables = page_tables_kib();
        for (int round = 0; round < 2; ++round) {
            EXPECT_GE(burst(count, 0), before + static_cast<std::size_t>(count) * 4);
            expect_back_at(before, page_tables);
        }
        // Counts one burst, not both: the second one reused what had not gone back before it.
        const auto all = static_cast<uint64_t>(count);
        eventually([&] {
            const stats_snapshot s = stats();
            return s.stack_bytes_trimmed >= all * 5 * kib && s.g_bytes_trimmed >= all * 256 * 8 / 10 &&
                   s.stacks_unmapped >= all / 2;
        });
    });
}

TEST_P(MemoryAfterBurst, DeepStackPagesAreReturned) {
    const int count = scaled(4'000);
    runtime rt(with(20ms));
    rt.run([&] {
        const std::size_t before = resources::now().resident_kib;
        const std::size_t page_tables = page_tables_kib();
        EXPECT_GE(burst(count, 32 * kib), before + static_cast<std::size_t>(count) * 32);
        expect_back_at(before, page_tables);
    });
}

// Long-lived green threads, one in a thousand, keep their own pages and slabs, and nothing else.
TEST_P(MemoryAfterBurst, IsReturnedBesideLongLivedGreenThreads) {
    const int count = scaled(30'000);
    runtime rt(with(20ms));
    rt.run([&] {
        const std::size_t before = resources::now().resident_kib;
        event gate;
        event end;
        wait_group all;
        wait_group survivors;
        int kept = 0;
        for (int i = 0; i < count; ++i) {
            if (i % 1000 == 500) {
                ++kept;
                survivors.go([&] { end.wait(); });
            } else {
                all.go([&] { gate.wait(); });
            }
        }
        eventually([&] { return stats().waiting >= static_cast<uint64_t>(count); });
        gate.set();
        all.wait();
        eventually([&] { return resources::now().resident_kib <= before + before / 10 + 8 * mib_in_kib; });
        EXPECT_GE(stats().live, static_cast<uint64_t>(kept));
        end.set();
        survivors.wait();
    });
}

// While a program goes on with other work, memory goes back, too: busy processors empty their
// caches.
TEST_P(MemoryAfterBurst, IsReturnedWhileProcessorsAreBusy) {
    const int count = scaled(20'000);
    runtime rt(with(20ms));
    rt.run([&] {
        const std::size_t before = resources::now().resident_kib;
        std::atomic<bool> ends{false};
        wait_group busy;
        for (unsigned i = 0; i < GetParam(); ++i) {
            busy.go([&] {
                while (!ends) {
                    wait_group some;
                    for (int k = 0; k < 20; ++k) some.go([] { weft::yield(); });
                    some.wait();
                }
            });
        }
        burst(count, 8 * kib);
        eventually([&] { return resources::now().resident_kib <= before + before / 10 + 8 * mib_in_kib; });
        ends = true;
        busy.wait();
    });
}

// The load oscillates between 10 and many green threads. None is unneeded for a whole interval, so
// nothing is given back or mapped again.
TEST_P(MemoryAfterBurst, IsNotReturnedUnderAnOscillatingLoad) {
    const int count = scaled(5'000);
    runtime rt(with(runtime_options::keep_memory));  // the test itself makes the rounds
    rt.run([&] {
        burst(count, 0);
        make_round();
        burst(count, 0);
        const uint64_t mapped = stats().stacks_mapped;
        const stats_snapshot begin = stats();
        constexpr int periods = 20;
        for (int period = 0; period < periods; ++period) {
            burst(10, 0);
            make_round();  // in the trough: the worst moment
            burst(count, 0);
        }
        const stats_snapshot end = stats();
        // What Ps cached at the end of an interval in which they were idle may go.
        const uint64_t allowed = periods * uint64_t{GetParam()} * 64;
        EXPECT_LE(end.stack_bytes_trimmed - begin.stack_bytes_trimmed, allowed * 8 * kib);
        EXPECT_EQ(end.stacks_unmapped, begin.stacks_unmapped);
        EXPECT_EQ(end.stacks_mapped, mapped);
    });
}

TEST_P(MemoryAfterBurst, IsKeptIfConfigured) {
    runtime rt(with(runtime_options::keep_memory));
    rt.run([&] { burst(scaled(2'000), 0); });
    const uint64_t scans = rt.stats().monitor_looks;
    sleep_for(50ms);
    EXPECT_EQ(rt.stats().stack_bytes_trimmed, 0U);
    EXPECT_EQ(rt.stats().g_bytes_trimmed, 0U);
    EXPECT_GE(rt.stats().monitor_looks, scans);
}

// The monitor gives the memory back and then sleeps for good.
TEST_P(MemoryAfterBurst, AnIdleRuntimeIsNotWokenOnceMemoryIsReturned) {
    if (in_storm()) GTEST_SKIP() << "where the monitor does not rest";
    runtime rt(with(5ms));
    rt.run([&] { burst(scaled(2'000), 0); });
    eventually(
        [&] { return rt.stats().stack_bytes_trimmed >= static_cast<uint64_t>(scaled(2'000)) * 4 * kib * 9 / 10; });
    uint64_t before = 0;
    eventually([&] {
        before = rt.stats().monitor_looks;
        std::this_thread::sleep_for(100ms);  // twenty intervals
        return rt.stats().monitor_looks == before;
    });
}

}  // namespace
}  // namespace weft::test
