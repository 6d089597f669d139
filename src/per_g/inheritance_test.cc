// inheritance_test.cc: what is lent, and when it ends.
#include "per_g/inheritance.h"

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "sched/current.h"
#include "sched/g.h"
#include "sched/m.h"

namespace weft::detail {
namespace {

G& me() { return *current_m()->g; }

TEST(PriorityInheritance, LastsUntilTheLastLockIsReleased) {
    runtime rt({.procs = 1});
    rt.run([] {
        this_g::set_priority(priority::low);
        const holder_handle mine = handle_of_caller();
        count_held(mine, 1);
        lend(mine, priority::high);
        EXPECT_EQ(queued_class(me()), priority::high);
        EXPECT_EQ(this_g::priority(), priority::low);
        count_held(mine, -1);
        EXPECT_EQ(queued_class(me()), priority::low);
    });
}

// The holder unlocks after the waiter has read its handle.
TEST(PriorityInheritance, IgnoresAFormerHolder) {
    runtime rt({.procs = 1});
    rt.run([] {
        this_g::set_priority(priority::low);
        const holder_handle mine = handle_of_caller();
        count_held(mine, 1);
        count_held(mine, -1);
        lend(mine, priority::high);
        EXPECT_EQ(queued_class(me()), priority::low);
    });
}

TEST(PriorityInheritance, PassesAlongAChainUnlessItsHolderIsAbandoned) {
    runtime rt({.procs = 1});
    rt.run([] {
        this_g::set_priority(priority::low);
        const holder_handle mine = handle_of_caller();
        count_held(mine, 1);
        atomic<uint32_t> wanted{mine};
        wait_group other;
        other.go({.priority = priority::low}, [&] {
            const holder_handle its = handle_of_caller();
            count_held(its, 1);
            set_waits_for(&wanted);
            lend(its, priority::normal);
            waits_for_nothing(me());
            lend(its, priority::high);
            set_waits_for(nullptr);
            count_held(its, -1);
        });
        other.wait();
        EXPECT_EQ(queued_class(me()), priority::normal);
        count_held(mine, -1);
    });
}

}  // namespace
}  // namespace weft::detail
