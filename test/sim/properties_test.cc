// properties_test.cc: properties that hold always, sometimes, or never.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/sim/properties.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

namespace weft {
namespace {

using sim::verdict;

std::vector<std::string> unmet() {
    std::vector<std::string> names;
    for (const sim::property& p : sim::unmet_properties()) names.push_back(p.name);
    return names;
}

bool is_unmet(const char* name) {
    const std::vector<std::string> names = unmet();
    return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Property, AlwaysFailsTheSchedule) {
    const sim::report r = sim::explore({}, [] {
        int x = 0;
        mutex m;
        wait_group both;
        for (int i = 0; i < 2; ++i) {
            both.go([&] {
                m.lock();
                ++x;
                WEFT_ALWAYS(x == 1, "one at a time");
                m.unlock();
                checkpoint();
                m.lock();
                --x;
                m.unlock();
            });
        }
        both.wait();
    });
    EXPECT_EQ(r.result, verdict::failed);
    EXPECT_NE(r.reason.find("does not hold: one at a time ("), std::string::npos) << r.reason;
    EXPECT_NE(r.reason.find("properties_test.cc:"), std::string::npos) << r.reason;
}

TEST(Property, UnreachableFailsTheSchedule) {
    const sim::report r = sim::explore({}, [] {
        if (sim::choose(3) == 2) WEFT_UNREACHABLE("two");
    });
    EXPECT_EQ(r.result, verdict::failed);
    EXPECT_NE(r.reason.find("reached: two"), std::string::npos) << r.reason;
}

TEST(Property, SometimesIsMetByOneSchedule) {
    EXPECT_TRUE(is_unmet("it draws three"));
    EXPECT_TRUE(is_unmet("it draws four"));
    EXPECT_TRUE(is_unmet("it gets there"));
    EXPECT_TRUE(is_unmet("it gets nowhere"));
    const sim::report r = sim::explore({}, [] {
        const uint32_t drawn = sim::choose(4);
        WEFT_SOMETIMES(drawn == 3, "it draws three");
        WEFT_SOMETIMES(drawn == 4, "it draws four");
        if (drawn == 1) WEFT_REACHABLE("it gets there");
        if (drawn == 4) WEFT_REACHABLE("it gets nowhere");
        if (drawn == 4) WEFT_ALWAYS_OR_UNREACHABLE(false, "it need not be reached");
    });
    EXPECT_EQ(r.result, verdict::passed) << r.text();
    EXPECT_FALSE(is_unmet("it draws three"));
    EXPECT_TRUE(is_unmet("it draws four"));
    EXPECT_FALSE(is_unmet("it gets there"));
    EXPECT_TRUE(is_unmet("it gets nowhere"));
    EXPECT_FALSE(is_unmet("it need not be reached"));
}

TEST(Property, CostsNothingOutsideOfSimulations) {
    int evaluated = 0;
    WEFT_ALWAYS(++evaluated == 0, "not evaluated");
    EXPECT_EQ(evaluated, 0);
    for (const sim::property& p : sim::properties()) {
        if (p.name != "not evaluated") continue;
        EXPECT_EQ(p.held + p.failed, 0U);
    }
}

}  // namespace
}  // namespace weft
