// stack_groups_test.cc: what is the same is one group, also beyond the room for groups.
#include "debug/stack_groups.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

g_snapshot one(uint64_t id, uintptr_t pc) {
    g_snapshot g;
    g.who = {};
    g.who.id = id;
    g.state = g_state::waiting;
    g.since_ns = static_cast<int64_t>(1000 - id);
    g.frames.count = 1;
    g.frames.pcs[0] = reinterpret_cast<const void*>(pc);  // NOLINT(performance-no-int-to-ptr): only compared
    return g;
}

TEST(StackGroups, CountWhatIsTheSameAndKeepTheRange) {
    stack_groups groups;
    for (uint64_t id = 1; id <= 20; ++id) EXPECT_TRUE(groups.add(one(id, 0x1000)));
    EXPECT_TRUE(groups.add(one(21, 0x2000)));
    const auto all = groups.sorted();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0]->count, 20U);
    EXPECT_EQ(all[0]->ids[stack_group::ids_max - 1], uint64_t{stack_group::ids_max});
    EXPECT_EQ(all[0]->oldest_ns, 980);
    EXPECT_EQ(all[0]->newest_ns, 999);
    EXPECT_EQ(all[1]->count, 1U);
}

TEST(StackGroups, DistinguishStatesReasonsAndFrames) {
    stack_groups groups;
    g_snapshot g = one(1, 0x1000);
    EXPECT_TRUE(groups.add(g));
    g.reason = wait_reason::chan_receive;
    EXPECT_TRUE(groups.add(g));
    g.state = g_state::runnable;
    EXPECT_TRUE(groups.add(g));
    g.frames.pcs[g.frames.count++] = nullptr;
    EXPECT_TRUE(groups.add(g));
    EXPECT_EQ(groups.sorted().size(), 4U);
}

TEST(StackGroups, RefuseNewGroupsWhenFullButCountOn) {
    stack_groups groups;
    for (uint64_t id = 1; id <= stack_groups::groups_max; ++id) ASSERT_TRUE(groups.add(one(id, 0x1000 + id)));
    EXPECT_FALSE(groups.add(one(9000, 0x1000)));
    EXPECT_TRUE(groups.add(one(9001, 0x1001)));
    const auto all = groups.sorted();
    ASSERT_EQ(all.size(), stack_groups::groups_max);
    EXPECT_EQ(all[0]->count, 2U);
    EXPECT_EQ(all[1]->ids[0], 2U) << "equal counts: by id";
}

TEST(Family, FindsLiveMembersOnly) {
    family all(3);
    for (const uint64_t id : {7, 3, 5, 9}) {
        identity who{};
        who.id = id;
        who.parent = id - 1;
        all.add(who);  // the fourth has no room
    }
    all.sort();
    ASSERT_NE(all.find(5), nullptr);
    EXPECT_EQ(all.find(5)->parent, 4U);
    EXPECT_EQ(all.find(9), nullptr);
    EXPECT_EQ(all.find(4), nullptr);
}

TEST(Family, OfNoneFindsNone) {
    const family none(0);
    EXPECT_EQ(none.find(1), nullptr);
}

}  // namespace
}  // namespace weft::detail
