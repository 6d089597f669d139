// plan_park_test.cc: the decision table of plan_park.h, for every combination of facts.
#include "idle/plan_park.h"

#include <set>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

constexpr unsigned combinations = 1U << 6;

constexpr park_facts facts(unsigned bits) noexcept {
    return {.some_p_idle = (bits & 1) != 0,
            .some_p_runs = (bits & 2) != 0,
            .backs_off = (bits & 4) != 0,
            .near_sentinel = (bits & 8) != 0,
            .poller_empty = (bits & 16) != 0,
            .may_join = (bits & 32) != 0};
}

template <typename F>
void for_each_combination(F f) {
    for (unsigned bits = 0; bits < combinations; ++bits) {
        SCOPED_TRACE(bits);
        const park_facts given = facts(bits);
        if (given.poller_empty && given.may_join) continue;  // cannot both be
        f(given, plan_park(given));
    }
}

TEST(PlanPark, ReachesEveryRow) {
    std::set<int> rows;
    for_each_combination([&](const park_facts&, const park_plan& plan) { rows.insert(plan.row); });
    EXPECT_EQ(rows, (std::set{1, 2, 3, 4, 5, 6, 7}));
}

TEST(PlanPark, WithoutAnIdlePNoMWakesByItself) {
    for_each_combination([](const park_facts& f, const park_plan& plan) {
        if (f.some_p_idle) return;
        EXPECT_EQ(plan.alarm, park_alarm::none);
        EXPECT_EQ(plan.place, park_place::note);
        EXPECT_EQ(plan.claim, sentinel_claim::no);
    });
}

// W2 of idle.h.
TEST(PlanPark, WhilePsRunAndScansPayTheMScansSoon) {
    for_each_combination([](const park_facts& f, const park_plan& plan) {
        const bool soon = plan.alarm == park_alarm::soon;
        EXPECT_EQ(soon, f.some_p_idle && f.some_p_runs && !f.backs_off);
        if (soon && !f.near_sentinel) {
            EXPECT_EQ(plan.claim, sentinel_claim::yes);
        }
    });
}

// An idle process wakes only for timers.
TEST(PlanPark, WhileNoPRunsNoMScans) {
    for_each_combination([](const park_facts& f, const park_plan& plan) {
        if (f.some_p_runs) return;
        EXPECT_NE(plan.alarm, park_alarm::soon);
    });
}

// I2 of netpoll.h.
TEST(PlanPark, APollerInUseIsNotLeftEmptyUnlessANearSentinelPolls) {
    for_each_combination([](const park_facts& f, const park_plan& plan) {
        if (!f.some_p_idle || !f.poller_empty) return;
        const bool scans = plan.alarm == park_alarm::soon;
        EXPECT_TRUE(plan.place == park_place::poller || scans || (f.some_p_runs && f.near_sentinel));
    });
}

TEST(PlanPark, AnMInThePollerNeverScansSoon) {
    for_each_combination([](const park_facts& f, const park_plan& plan) {
        if (plan.place != park_place::poller) return;
        EXPECT_EQ(plan.alarm, park_alarm::timer);
        EXPECT_TRUE(f.poller_empty || f.may_join);
    });
}

TEST(PlanPark, ASecondMJoinsOnlyWhileNoPRuns) {
    for_each_combination([](const park_facts& f, const park_plan& plan) {
        if (plan.place != park_place::poller || f.poller_empty) return;
        EXPECT_FALSE(f.some_p_runs);
    });
}

// So some M has each alarm, whichever M is the only idle one.
TEST(PlanPark, WithAnIdlePTheRoleIsNeverLeftVacant) {
    for_each_combination([](const park_facts& f, const park_plan& plan) {
        if (!f.some_p_idle) return;
        EXPECT_NE(plan.claim, sentinel_claim::no);
    });
}

}  // namespace
}  // namespace weft::detail
