// cpu_affinity_test.cc: where threads are, and moving them.
#include "os/cpu_affinity.h"

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/resources.h"

namespace weft::detail::os {
namespace {

cpu_mask own_mask() {
    cpu_mask mask;
    EXPECT_TRUE(read_cpu_mask(0, mask));
    return mask;
}

bool masks_work() {
    cpu_mask mask;
    return read_cpu_mask(0, mask) && write_cpu_mask(0, mask);
}

constexpr auto no_masks = "this system does not say, or set, where threads may run";

std::vector<uint32_t> cpus_of(const cpu_mask& mask) {
    std::vector<uint32_t> cpus;
    for (uint32_t cpu = 0; cpu < cpus_max; ++cpu)
        if (mask.has(cpu)) cpus.push_back(cpu);
    return cpus;
}

cpu_mask only(uint32_t cpu) {
    cpu_mask one;
    one.add(cpu);
    return one;
}

TEST(CpuAffinity, TheWordHoldsTheCpuOfTheThread) {
    const uint32_t* word = this_cpu_word();
    if (cpu_of(word) == no_cpu) GTEST_SKIP() << "this system does not say";
    test::eventually([&] { return cpu_of(word) == static_cast<uint32_t>(::sched_getcpu()); });
}

TEST(CpuAffinity, WithoutAWordTheCpuIsUnknown) {
    EXPECT_EQ(cpu_of(nullptr), no_cpu);
    for (const int failed : {-1, -2}) {
        const auto word = static_cast<uint32_t>(failed);
        EXPECT_EQ(cpu_of(&word), no_cpu);
    }
}

TEST(CpuAffinity, AMaskHasNoCpusBeyondItsEnd) {
    cpu_mask all;
    for (uint64_t& word : all.words) word = ~uint64_t{0};
    EXPECT_TRUE(all.has(cpus_max - 1));
    EXPECT_FALSE(all.has(cpus_max));
    EXPECT_FALSE(all.has(no_cpu));
}

TEST(CpuAffinity, AMovedThreadKeepsItsMask) {
    if (!masks_work()) GTEST_SKIP() << no_masks;
    const cpu_mask usual = own_mask();
    const uint32_t* word = this_cpu_word();
    if (cpu_of(word) == no_cpu) GTEST_SKIP() << "this system does not say where threads are";
    for (const uint32_t cpu : cpus_of(usual)) {
        // The system may have moved the thread again before the check.
        test::eventually([&] { return move_this_thread(cpu) && cpu_of(word) == cpu; });
        EXPECT_EQ(own_mask(), usual);
    }
}

TEST(CpuAffinity, AThreadDoesNotMoveOutsideItsMask) {
    if (!masks_work()) GTEST_SKIP() << no_masks;
    const cpu_mask usual = own_mask();
    EXPECT_FALSE(move_this_thread(cpus_max));
    EXPECT_FALSE(move_this_thread(no_cpu));
    const std::vector<uint32_t> cpus = cpus_of(usual);
    if (cpus.size() < 2) GTEST_SKIP() << "with one CPU there is one mask";
    ASSERT_TRUE(write_cpu_mask(0, only(cpus[0])));
    EXPECT_FALSE(move_this_thread(cpus[1]));
    EXPECT_TRUE(move_this_thread(cpus[0]));
    EXPECT_EQ(own_mask(), only(cpus[0])) << "what it had asked for stays";
    ASSERT_TRUE(write_cpu_mask(0, usual));
}

TEST(CpuAffinity, TheCpuOfAnotherThreadIsReadable) {
    if (!masks_work()) GTEST_SKIP() << no_masks;
    if (cpu_of(this_cpu_word()) == no_cpu) GTEST_SKIP() << "this system does not say where threads are";
    std::atomic<const uint32_t*> word = nullptr;
    std::atomic<int> tid = 0;
    std::atomic<bool> over = false;
    std::thread other([&] {
        word = this_cpu_word();
        for (tid = test::os_thread_id(); !over;) {}
    });
    test::eventually([&] { return tid != 0; });
    for (const uint32_t cpu : cpus_of(own_mask())) {
        EXPECT_TRUE(write_cpu_mask(tid, only(cpu)));
        test::eventually([&] { return cpu_of(word) == cpu; });
    }
    over = true;
    other.join();
}

TEST(CpuAffinity, AMaskIsCounted) {
    cpu_mask mask;
    EXPECT_EQ(mask.count(), 0U);
    for (const uint32_t cpu : {0U, 2U, cpus_max - 1, cpus_max}) mask.add(cpu);
    EXPECT_EQ(mask.count(), 3U) << "there is no CPU beyond the end";
}

}  // namespace
}  // namespace weft::detail::os
