// placement_test.cc: the count of threads per CPU, and the choice of a CPU to move to.
#include "idle/placement.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

TEST(CpuCensus, HoldersOnDifferentCpusDoNotShare) {
    cpu_census census;
    for (const uint32_t cpu : {0U, 1U, 63U, 64U, os::cpus_max - 1}) census.add_holder(cpu);
    EXPECT_FALSE(census.any_shares());
    EXPECT_EQ(census.size(), 5U);
}

TEST(CpuCensus, TwoHoldersOnOneCpuShareIt) {
    cpu_census census;
    for (const uint32_t cpu : {3U, 5U, 3U}) census.add_holder(cpu);
    EXPECT_TRUE(census.any_shares());
    EXPECT_TRUE(census.shares(3));
    EXPECT_FALSE(census.shares(5));
    EXPECT_FALSE(census.shares(4));
}

TEST(CpuCensus, IgnoresThreadsOnAnUnknownCpu) {
    cpu_census census;
    census.add_holder(os::no_cpu);
    census.add_holder(os::no_cpu);
    census.add_hog(os::no_cpu);
    EXPECT_FALSE(census.any_shares());
    EXPECT_FALSE(census.shares(os::no_cpu));
    EXPECT_EQ(census.size(), 0U);
}

TEST(CpuCensus, AHogAloneIsBetterThanAnotherHolder) {
    cpu_census census;
    census.add_holder(0);
    census.add_holder(0);
    EXPECT_EQ(census.better_than(0), os::no_cpu) << "an idle CPU is the system's business";
    census.add_hog(1);
    EXPECT_EQ(census.better_than(0), 1U);
}

TEST(CpuCensus, ACpuWithAHolderIsNotBetter) {
    cpu_census census;
    for (const uint32_t cpu : {0U, 0U, 1U}) census.add_holder(cpu);
    census.add_hog(1);
    EXPECT_EQ(census.better_than(0), os::no_cpu);
}

// Otherwise the system would move it back.
TEST(CpuCensus, ACpuWithEquallyManyHogsIsNotBetter) {
    cpu_census census;
    census.add_holder(0);
    census.add_holder(0);
    census.add_hog(1);
    census.add_hog(1);
    EXPECT_EQ(census.better_than(0), os::no_cpu);
    census.add_hog(0);
    EXPECT_EQ(census.better_than(0), 1U) << "three against two";
}

TEST(CpuCensus, ACpuWithFewerHogsIsBetter) {
    cpu_census census;
    for (const uint32_t cpu : {0U, 0U, 0U}) census.add_holder(cpu);
    for (const uint32_t cpu : {5U, 5U, 7U, 9U, 9U}) census.add_hog(cpu);
    EXPECT_EQ(census.better_than(0), 7U);
}

}  // namespace
}  // namespace weft::detail
