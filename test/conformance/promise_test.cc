// promise_test.cc: results provided by hand, and combined futures.

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/hook_counter.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using Promise = procs_test;
WEFT_SWEEP(Promise);
using Then = procs_test;
WEFT_SWEEP(Then);
using WhenAll = procs_test;
WEFT_SWEEP(WhenAll);
using WhenAny = procs_test;
WEFT_SWEEP(WhenAny);
using Await = procs_test;
WEFT_SWEEP(Await);

static_assert(!std::is_copy_constructible_v<promise<int>>);
static_assert(std::is_nothrow_move_constructible_v<promise<int>>);

std::future_errc code_of(const std::future_error& e) { return static_cast<std::future_errc>(e.code().value()); }

template <typename F>
void expect_future_error(std::future_errc expected, F&& f) {
    try {
        f();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::future_error& e) {
        EXPECT_EQ(code_of(e), expected);
    }
}

// ---- promise

TEST_P(Promise, AValueSetBeforeOrAfterTheGetIsTheResult) {
    rt().run([] {
        promise<std::unique_ptr<int>> early;
        auto first = early.get_future();
        early.set_value(std::make_unique<int>(1));
        EXPECT_EQ(*first.get(), 1);

        promise<int> late;
        auto second = async([f = late.get_future()]() mutable { return f.get(); });
        late.set_value(2);
        EXPECT_EQ(second.get(), 2);

        promise<void> nothing;
        auto third = nothing.get_future();
        EXPECT_FALSE(third.is_ready());
        nothing.set_value();
        EXPECT_TRUE(third.is_ready());
        third.get();

        int target = 0;
        promise<int&> reference;
        auto fourth = reference.get_future();
        reference.set_value(target);
        EXPECT_EQ(&fourth.get(), &target);
    });
}

TEST_P(Promise, AnExceptionIsThrownByGet) {
    rt().run([] {
        promise<int> p;
        auto f = p.get_future();
        p.set_exception(std::make_exception_ptr(std::out_of_range("no thread that long")));
        EXPECT_THROW(f.get(), std::out_of_range);
    });
}

TEST_P(Promise, PlainAndGreenThreadsExchangeResults) {
    const int rounds = scaled(200);
    for (int i = 0; i < rounds; ++i) {
        promise<int> p;
        auto answer = rt().async([f = p.get_future()]() mutable { return f.get() + 1; });
        std::thread plain([p = std::move(p), i]() mutable { p.set_value(i); });
        EXPECT_EQ(answer.get(), i + 1);
        plain.join();

        promise<int> back;
        auto f = back.get_future();
        rt().go([back = std::move(back), i]() mutable { back.set_value(i); });
        EXPECT_EQ(f.get(), i);
    }
}

TEST_P(Promise, ADroppedPromiseIsBroken) {
    rt().run([] {
        future<int> f;
        {
            promise<int> p;
            f = p.get_future();
        }
        expect_future_error(std::future_errc::broken_promise, [&] { f.get(); });
        promise<int> assigned;
        auto g = assigned.get_future();
        assigned = promise<int>();
        expect_future_error(std::future_errc::broken_promise, [&] { g.get(); });
        { promise<int> nobody_has_asked; }
    });
}

// No caller can learn of it, and nothing failed: asking, waiting for a while and giving up is
// normal use of a future.
TEST_P(Promise, APromiseDroppedAfterItsFutureIsNotReported) {
    const hook_counter hook;
    rt().run([] {
        {
            promise<int> given_up;
            auto f = given_up.get_future();
            EXPECT_EQ(f.wait_for(std::chrono::microseconds(1)), std::future_status::timeout);
        }
        {
            promise<int> given_up;
            { const auto dropped_first = given_up.get_future(); }
        }
        std::atomic<bool> called{false};
        {
            promise<int> p;
            promise<int> q;
            promise<int> loser;
            auto passed_on = p.get_future().then([&](int) { called = true; }).then([&] { called = true; });
            auto all = when_all(q.get_future(), async([] { return 1; }));
            std::vector<future<int>> two;
            two.push_back(loser.get_future());
            two.push_back(async([] { return 2; }));
            EXPECT_EQ(when_any(std::move(two)).get().index, 1U);
        }
        EXPECT_FALSE(called);
    });
    rt().drain();
    EXPECT_EQ(hook.errors() + hook.others(), 0);
}

// Functions and holders of promises that fail are another matter.
TEST_P(Promise, AnUnobservedExceptionIsReported) {
    const hook_counter hook;
    rt().run([] {
        promise<int> p;
        { const auto given_up = p.get_future(); }
        p.set_exception(std::make_exception_ptr(std::runtime_error("lost")));
    });
    EXPECT_EQ(hook.errors(), 1);
    rt().run([] {
        future<int> broken;
        {
            promise<int> p;
            broken = p.get_future();
        }
        auto fails = async([f = std::move(broken)]() mutable { return f.get(); });
        fails.wait();
    });
    EXPECT_EQ(hook.others(), 1);
}

TEST_P(Promise, SelfAssignmentHasNoEffect) {
    rt().run([] {
        promise<int> p;
        auto f = p.get_future();
        promise<int>& same = p;
        p = std::move(same);
        expect_future_error(std::future_errc::future_already_retrieved, [&] { static_cast<void>(p.get_future()); });
        p.set_value(6);
        EXPECT_EQ(f.get(), 6);
        p = std::move(same);
        expect_future_error(std::future_errc::promise_already_satisfied, [&] { p.set_value(7); });
    });
}

TEST_P(Promise, MisuseThrowsTheErrorsOfTheStandard) {
    rt().run([] {
        promise<int> p;
        auto f = p.get_future();
        expect_future_error(std::future_errc::future_already_retrieved, [&] { static_cast<void>(p.get_future()); });
        p.set_value(1);
        expect_future_error(std::future_errc::promise_already_satisfied, [&] { p.set_value(2); });
        expect_future_error(std::future_errc::promise_already_satisfied, [&] { p.set_exception(nullptr); });
        promise<int> q = std::move(p);
        expect_future_error(std::future_errc::no_state, [&] { p.set_value(3); });  // NOLINT: what is tested
        EXPECT_EQ(f.get(), 1);
    });
}

// ---- then

TEST_P(Then, PassesTheResultThroughAChainOfFunctions) {
    rt().run([] {
        auto text =
            async([] { return 20; }).then([](int n) { return n + 1; }).then([](int n) { return std::to_string(n); });
        EXPECT_EQ(text.get(), "21");
        int ran = 0;
        async([] {}).then([&] { ++ran; }).get();
        EXPECT_EQ(ran, 1);
        auto moved = async([] { return std::make_unique<int>(5); }).then([](std::unique_ptr<int> p) { return *p; });
        EXPECT_EQ(moved.get(), 5);
    });
}

TEST_P(Then, AnExceptionSkipsTheFunctions) {
    rt().run([] {
        bool called = false;
        auto f = async([]() -> int { throw std::runtime_error("torn"); }).then([&](int n) {
            called = true;
            return n;
        });
        EXPECT_THROW(f.get(), std::runtime_error);
        EXPECT_FALSE(called);
        auto g = async([] { return 1; }).then([](int) -> int { throw std::logic_error("knot"); });
        EXPECT_THROW(g.get(), std::logic_error);
    });
}

TEST_P(Then, TheFunctionRunsOnItsOwnGreenThread) {
    rt().run([] {
        promise<int> p;
        std::atomic<uint64_t> ran_on{0};
        std::atomic<bool> setter_is_back{false};
        auto f = p.get_future().then([&](int) { ran_on.store(this_g::id()); });
        p.set_value(1);
        setter_is_back.store(true);
        f.get();
        EXPECT_NE(ran_on.load(), 0U);
        EXPECT_NE(ran_on.load(), this_g::id());
    });
}

TEST_P(Then, ConsumesItsFuture) {
    rt().run([] {
        auto f = async([] { return 1; });
        auto g = f.then([](int n) { return n; });
        EXPECT_FALSE(f.valid());  // NOLINT: what is tested
        EXPECT_EQ(g.get(), 1);
        expect_future_error(std::future_errc::no_state, [&] { static_cast<void>(f.then([](int n) { return n; })); });
    });
}

TEST_P(Then, TheFunctionIsDestroyedBeforeTheResultIsReady) {
    const long before = tracked::alive();
    rt().run([&] {
        auto f = async([] { return 1; }).then([t = tracked(1)](int n) { return n + t.value; });
        EXPECT_EQ(f.get(), 2);
        EXPECT_EQ(tracked::alive(), before);
    });
}

TEST_P(Then, EachContinuationRunsOnceInARaceWithItsSetter) {
    const int n = scaled(2'000);
    rt().run([&] {
        std::atomic<int> ran{0};
        std::vector<promise<int>> promises(static_cast<std::size_t>(n));
        std::vector<future<void>> all;
        wait_group setters;
        for (int i = 0; i < n; ++i) {
            auto f = promises[static_cast<std::size_t>(i)].get_future();
            setters.go([&promises, i] { promises[static_cast<std::size_t>(i)].set_value(i); });
            if (i % 3 == 0) weft::yield();
            all.push_back(f.then([&, i](int v) { ran.fetch_add(v == i ? 1 : 1'000'000); }));
        }
        setters.wait();
        for (auto& f : all) f.get();
        EXPECT_EQ(ran.load(), n);
    });
}

// A continuation that has not run when its runtime stops is destroyed with what it holds.
TEST(ThenAtTheEnd, AContinuationThatNeverRanIsDestroyed) {
    const long before = tracked::alive();
    promise<int> p;
    {
        runtime rt({.procs = 2});
        future<void> f = rt.run([&] { return p.get_future().then([t = tracked(1)](int) {}); });
        EXPECT_EQ(tracked::alive(), before + 1);
        EXPECT_EQ(rt.abandon(), 1U);
        EXPECT_EQ(tracked::alive(), before);
        p.set_value(1);  // nothing is left to receive it
        EXPECT_FALSE(f.is_ready());
    }
}

// ---- when_all, when_any

TEST_P(WhenAll, ReturnsAllResultsInOrder) {
    rt().run([] {
        chan<int> gate;
        auto all = when_all(async([&] { return *gate.recv(); }), async([] {}), async([] { return std::string("b"); }));
        EXPECT_FALSE(all.is_ready());
        gate.send(1);
        const auto [a, nothing, b] = all.get();
        EXPECT_EQ(a, 1);
        EXPECT_EQ(b, "b");
        static_assert(std::is_same_v<decltype(nothing), const std::monostate>);

        std::vector<future<int>> many;
        for (int i = 0; i < 50; ++i) many.push_back(async([i] { return i * i; }));
        const std::vector<int> squares = when_all(std::move(many)).get();
        ASSERT_EQ(squares.size(), 50U);
        for (int i = 0; i < 50; ++i) EXPECT_EQ(squares[static_cast<std::size_t>(i)], i * i);
        EXPECT_TRUE(when_all(std::vector<future<int>>()).get().empty());
    });
}

TEST_P(WhenAll, WaitsForAllAndThrowsTheFirstExceptionInOrder) {
    rt().run([] {
        chan<int> gate;
        std::atomic<bool> ended{false};
        auto all = when_all(async([&]() -> int {
                                gate.recv();
                                ended.store(true);
                                throw std::logic_error("first in order");
                            }),
                            async([]() -> int { throw std::runtime_error("first in time"); }));
        gate.send(1);
        EXPECT_THROW(all.get(), std::logic_error);
        EXPECT_TRUE(ended.load());
    });
}

TEST_P(WhenAny, ReturnsTheIndexOfTheFirstAndAllFutures) {
    rt().run([] {
        chan<int> gate;
        auto any = when_any(async([&] { return *gate.recv(); }), async([] { return 2; }));
        auto result = any.get();
        EXPECT_EQ(result.index, 1U);
        EXPECT_EQ(std::get<1>(result.futures).get(), 2);
        EXPECT_FALSE(std::get<0>(result.futures).is_ready());
        gate.send(1);
        EXPECT_EQ(std::get<0>(result.futures).get(), 1);
    });
}

TEST_P(WhenAny, AFailedFutureCountsAsReady) {
    rt().run([] {
        promise<int> never;
        std::vector<future<int>> futures;
        futures.push_back(never.get_future());
        futures.push_back(async([]() -> int { throw std::runtime_error(""); }));
        auto result = when_any(std::move(futures)).get();
        EXPECT_EQ(result.index, 1U);
        EXPECT_THROW(result.futures[1].get(), std::runtime_error);
        never.set_value(0);
        EXPECT_THROW(static_cast<void>(when_any(std::vector<future<int>>())), std::invalid_argument);
    });
}

// ---- std::future

TEST_P(Await, AwaitingAStdFutureDelaysNoOther) {
    std::promise<int> theirs;
    auto mine = rt().async([f = theirs.get_future()]() mutable { return await(std::move(f)); });
    // With one P, others run while it waits.
    EXPECT_EQ(rt().run([] { return 5; }), 5);
    theirs.set_value(7);
    EXPECT_EQ(mine.get(), 7);
}

TEST_P(Await, ReadyDeferredAndFailedFuturesReturnAtOnce) {
    rt().run([] {
        std::promise<void> p;
        p.set_value();
        await(p.get_future());
        EXPECT_EQ(await(std::async(std::launch::deferred, [] { return 3; })), 3);
        std::promise<int> failed;
        failed.set_exception(std::make_exception_ptr(std::out_of_range("")));
        EXPECT_THROW(await(failed.get_future()), std::out_of_range);
    });
    std::promise<int> q;
    q.set_value(1);
    EXPECT_EQ(await(q.get_future()), 1) << "in a plain thread";
}

}  // namespace
}  // namespace weft::test
