// placement_test.cc: who shares a CPU with whom.
#include "sched/placement.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

TEST(CpuCensus, HoldersOnCpusOfTheirOwnShareNone) {
    cpu_census census;
    for (const uint32_t cpu : {0U, 1U, 63U, 64U, os::cpus_max - 1}) census.add_holder(cpu);
    EXPECT_FALSE(census.any_shares());
    EXPECT_TRUE(census.has_holder(64));
    EXPECT_FALSE(census.has_holder(2));
}

TEST(CpuCensus, TwoOnOneCpuShareIt) {
    cpu_census census;
    for (const uint32_t cpu : {3U, 5U, 3U}) census.add_holder(cpu);
    EXPECT_TRUE(census.any_shares());
    EXPECT_TRUE(census.shares(3));
    EXPECT_FALSE(census.shares(5));
    EXPECT_FALSE(census.shares(4));
}

// Nobody is moved because of them, or to them.
TEST(CpuCensus, ThoseWhosePlaceIsUnknownAreLeftAlone) {
    cpu_census census;
    census.add_holder(os::no_cpu);
    census.add_holder(os::no_cpu);
    EXPECT_FALSE(census.any_shares());
    EXPECT_FALSE(census.shares(os::no_cpu));
    EXPECT_TRUE(census.has_holder(os::no_cpu));
}

}  // namespace
}  // namespace weft::detail
