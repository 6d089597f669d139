// places_test.cc: the steps of a failure have their lines.
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include <weft/sim/sim.h>
#include <weft/weft.h>

// Not in namespace weft, whose frames are left out.
namespace shop {

constexpr int locks_first = __LINE__ + 4;
constexpr int locks_second = __LINE__ + 4;

[[gnu::noinline]] void take(weft::mutex& first, weft::mutex& second) {
    const std::lock_guard one(first);
    const std::lock_guard two(second);
}

void take_in_two_orders() {
    weft::mutex a;
    weft::mutex b;
    weft::wait_group both;
    both.go({.name = "anna"}, [&] { take(a, b); });
    both.go({.name = "otto"}, [&] { take(b, a); });
    both.wait();
}

}  // namespace shop

namespace {

TEST(Places, AStepHasItsLine) {
    const weft::sim::report r = weft::sim::explore({}, shop::take_in_two_orders);
    ASSERT_EQ(r.result, weft::sim::verdict::deadlock) << r.text();
    for (const int line : {shop::locks_first, shop::locks_second}) {
        const std::string place = "(places_test.cc:" + std::to_string(line) + ")";
        EXPECT_NE(r.steps_text.find(place), std::string::npos) << place << r.text();
    }
}

}  // namespace
