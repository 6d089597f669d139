// stack_policies_test.cc: green threads on stacks of each policy: deep calls, buffers, big stacks,
// and memory that goes back to the system.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <weft/stack_policy.h>
#include <weft/weft.h>

#include "sched/current.h"
#include "sched/scheduler.h"
#include "sched/switch.h"
#include "sched/trim.h"
#include "support/build.h"
#include "support/deep.h"
#include "support/eventually.h"
#include "support/resources.h"
#include "support/scale.h"

namespace weft::test {
namespace {

class StackPolicy : public ::testing::TestWithParam<std::tuple<unsigned, stack_policy>> {
protected:
    static runtime_options options() {
        return {.procs = std::get<0>(GetParam()),
                .stack_size = 256 * 1024,
                .stacks = std::get<1>(GetParam()),
                .memory_idle = runtime_options::keep_memory};
    }

    runtime rt_{options()};
};

std::string name_of(const ::testing::TestParamInfo<std::tuple<unsigned, stack_policy>>& p) {
    const stack_policy policy = std::get<1>(p.param);
    const char* const name = policy == stack_policy::paged   ? "paged"
                             : policy == stack_policy::fixed ? "fixed"
                                                             : "growing";
    return std::string(name) + "_P" + std::to_string(std::get<0>(p.param));
}

INSTANTIATE_TEST_SUITE_P(
    Policies,
    StackPolicy,
    ::testing::Combine(::testing::Values(1U, 2U, 4U),
                       ::testing::Values(stack_policy::paged, stack_policy::fixed, stack_policy::growing)),
    name_of);

constexpr std::size_t much = built_with_sanitizer ? 20 * 1024 : 180 * 1024;

TEST_P(StackPolicy, DeepCallsMayParkAtTheBottom) {
    rt_.run([] {
        std::atomic<int> done{0};
        wait_group all;
        for (int i = 0; i < 100; ++i) {
            all.go([&] {
                deep(much, [] { weft::yield(); });
                ++done;
            });
        }
        all.wait();
        EXPECT_EQ(done, 100);
    });
}

TEST_P(StackPolicy, ExceptionsPassThroughDeepCalls) {
    rt_.run([] {
        for (int i = 0; i < 10; ++i)
            EXPECT_THROW(deep(much, [] { throw std::runtime_error("from the bottom"); }), std::runtime_error);
    });
}

// A system call fails with EFAULT on a page that a fault would have committed.
TEST_P(StackPolicy, SystemCallsWriteIntoBuffersOnTheStack) {
#if defined(__riscv)
    GTEST_SKIP() << "GCC does not touch the pages of large frames here, whatever -fstack-clash-protection says";
#endif
    rt_.run([] {
        wait_group all;
        for (int i = 0; i < 20; ++i) {
            all.go([] {
                int ends[2];
                ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
                const std::string sent(48 * 1024, 'z');
                ASSERT_EQ(::write(ends[0], sent.data(), sent.size()), static_cast<ssize_t>(sent.size()));
                char buffer[48 * 1024];
                EXPECT_EQ(::read(ends[1], buffer, sizeof(buffer)), static_cast<ssize_t>(sizeof(buffer)));
                EXPECT_EQ(std::memcmp(buffer, sent.data(), sent.size()), 0);
                ::close(ends[0]);
                ::close(ends[1]);
            });
        }
        all.wait();
    });
}

// Other threads write first to a frame of a green thread: two threads may fault in one stack at
// once.
TEST_P(StackPolicy, AFrameMayBeTouchedFirstByOtherThreads) {
    if (built_with_sanitizer) GTEST_SKIP() << "which lays frames out by itself";
    rt_.run([] {
        for (int round = 0; round < 20; ++round) {
            // Below our frames, where a callee's would lie: still untouched.
            auto* const below = static_cast<std::byte*>(__builtin_frame_address(0)) - 150 * 1024;
            std::vector<std::thread> writers;
            for (int i = 0; i < 4; ++i) {
                writers.emplace_back([below, i] {
                    for (int k = 0; k < 16; ++k)
                        reinterpret_cast<std::atomic<std::byte>*>(below)[k * 4096 + i] = std::byte{1};
                });
            }
            for (std::thread& t : writers) t.join();
        }
    });
}

TEST_P(StackPolicy, OnBigStackWorks) {
    rt_.run([] {
        wait_group all;
        for (int i = 0; i < 20; ++i) {
            all.go([] {
                const int calls = on_big_stack((built_with_sanitizer ? 16 : 4) << 20,
                                               [] { return deep(3 << 20, [] { weft::yield(); }); });
                EXPECT_EQ(calls, 3 * 1024 - 1);
            });
        }
        all.wait();
    });
}

TEST_P(StackPolicy, ManyGreenThreadsRun) {
    const int count = scaled(5'000);
    rt_.run([count] {
        chan<int> gate;
        wait_group all;
        for (int i = 0; i < count; ++i) all.go([&] { static_cast<void>(gate.recv()); });
        while (stats().parks < static_cast<uint64_t>(count)) weft::yield();
        gate.close();
        all.wait();
    });
}

std::size_t burst(runtime& rt, int count, std::size_t depth) {
    std::size_t resident = 0;
    rt.run([&] {
        chan<int> gate;
        wait_group all;
        std::atomic<int> arrived{0};
        for (int i = 0; i < count; ++i) {
            all.go([&] {
                deep(depth);
                ++arrived;
                static_cast<void>(gate.recv());
            });
        }
        while (arrived < count) weft::yield();
        resident = resources::now().resident_kib;
        gate.close();
        all.wait();
    });
    return resident;
}

TEST_P(StackPolicy, MemoryOfADeepBurstIsReturned) {
    if (built_with_sanitizer || emulated) GTEST_SKIP() << "a sanitizer or an emulator has memory of its own";
    constexpr int count = 1000;
    constexpr std::size_t deepest = 200 * 1024;
    give_heap_back();
    const std::size_t base = burst(rt_, count, 2048);
    const std::size_t full = burst(rt_, count, deepest);
    EXPECT_GE(full, base + count * 190);
    weft::detail::scheduler& s = *rt_.run([] { return weft::detail::current_m()->home; });
    const auto back = [&] {
        while (weft::detail::trim_memory(s).more) {}
        return resources::now().resident_kib <= base + base / 10;
    };
    eventually(back);
    EXPECT_GE(rt_.stats().stack_bytes_trimmed, uint64_t{count} * 180 * 1024);
    EXPECT_GE(burst(rt_, count, deepest), base + count * 190) << "and they go deep again";
}

TEST_P(StackPolicy, TrimmingKeepsStacksInUse) {
    std::atomic<bool> stop{false};
    weft::detail::scheduler& s = *rt_.run([] { return weft::detail::current_m()->home; });
    std::thread trimmer([&] {
        while (!stop) {
            static_cast<void>(weft::detail::trim_memory(s, 16));
            std::this_thread::yield();
        }
    });
    for (int round = 0; round < scaled(30); ++round) {
        rt_.run([round] {
            wait_group all;
            for (int i = 0; i < 300; ++i) {
                all.go([i, round] {
                    volatile char mine[2000];
                    for (volatile char& c : mine) c = static_cast<char>(i);
                    if (i % 16 == round % 16) deep(much / 2, [] { weft::yield(); });
                    weft::yield();
                    int wrong = 0;
                    for (const volatile char& c : mine) wrong += c != static_cast<char>(i) ? 1 : 0;
                    EXPECT_EQ(wrong, 0);
                });
            }
            all.wait();
        });
    }
    stop = true;
    trimmer.join();
}

}  // namespace
}  // namespace weft::test
