// coroutines_test.cc: coroutines in simulations: time, orders and failures, as for green threads.
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/coroutine.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

namespace weft {
namespace {

using namespace std::chrono_literals;
using sim::verdict;

task<long> add_up(chan<int> in) {
    long sum = 0;
    while (const std::optional<int> n = co_await co::recv(in)) sum += *n;
    co_return sum;
}

task<long> add_up_later(chan<int> in) {
    sleep_for(24h);  // of the green thread that runs it
    co_return co_await add_up(in);
}

TEST(SimulatedCoroutines, WaitOnChannelsAndTime) {
    const sim::report r = sim::explore({.schedules = 300, .lateness = 0ns}, [] {
        const auto begin = std::chrono::steady_clock::now();
        const chan<int> numbers(2);
        go([numbers] {
            for (int i = 1; i <= 4; ++i) numbers.send(i);
            numbers.close();
        });
        future<long> sum = async(add_up_later(numbers));
        if (sum.get() != 10) throw std::runtime_error("another sum");
        if (std::chrono::steady_clock::now() - begin != 24h) throw std::runtime_error("another time");
    });
    EXPECT_TRUE(r) << r.text();
}

task<void> append(std::string& order, char name) {
    yield();
    order += name;
    co_return;
}

TEST(SimulatedCoroutines, RunInAllOrders) {
    std::set<std::string> orders;
    const sim::report r = sim::explore({.schedules = 300}, [&] {
        std::string order;
        future<void> a = async(append(order, 'a'));
        future<void> b = async(append(order, 'b'));
        a.get();
        b.get();
        orders.insert(order);
    });
    EXPECT_TRUE(r) << r.text();
    EXPECT_EQ(orders, (std::set<std::string>{"ab", "ba"}));
}

task<int> wait_for_ever(chan<int> c) { co_return (co_await co::recv(c)).value(); }

TEST(SimulatedCoroutines, OneThatWaitsForEverIsADeadlock) {
    const sim::report r =
        sim::explore({.schedules = 10}, [] { static_cast<void>(async(wait_for_ever(chan<int>())).get()); });
    EXPECT_EQ(r.result, verdict::deadlock) << r.text();
}

}  // namespace
}  // namespace weft
