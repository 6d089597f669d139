// future_test.cc: the result of a green thread: waiting for it, taking it, dropping it.

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Future = procs_test;
WEFT_SWEEP(Future);

static_assert(std::is_same_v<decltype(async([] { return 1; })), future<int>>);
static_assert(std::is_same_v<decltype(async([] {})), future<void>>);
static_assert(std::is_same_v<decltype(async([]() -> int& { throw 1; })), future<int&>>);

TEST_P(Future, GetReturnsWhatTheFunctionReturned) {
    rt().run([] {
        int target = 1;
        EXPECT_EQ(async([] { return 42; }).get(), 42);
        EXPECT_EQ(async([] { return std::string("woven"); }).get(), "woven");
        EXPECT_EQ(*async([] { return std::make_unique<int>(7); }).get(), 7);
        async([] {}).get();
        EXPECT_EQ(&async([&]() -> int& { return target; }).get(), &target);
        EXPECT_EQ(async([] { return tracked(5); }).get().value, 5);
    });
}

TEST_P(Future, GetThrowsWhatTheFunctionThrew) {
    rt().run([] {
        auto failed = async([]() -> int { throw std::out_of_range("beyond the selvage"); });
        EXPECT_THROW(failed.get(), std::out_of_range);
        EXPECT_FALSE(failed.valid());
        EXPECT_THROW(async([] { throw 7; }).get(), int);
    });
}

TEST_P(Future, APlainThreadMayGetResults) {
    EXPECT_EQ(rt().async([] { return 1; }).get(), 1);
    EXPECT_THROW(rt().async([] { throw std::runtime_error(""); }).get(), std::runtime_error);
    EXPECT_THROW(rt().run([]() -> int { throw std::runtime_error(""); }), std::runtime_error);
}

TEST_P(Future, ItCanBeMovedButNotCopied) {
    EXPECT_FALSE(std::is_copy_constructible_v<future<int>>);
    EXPECT_FALSE(std::is_copy_assignable_v<future<int>>);
    EXPECT_TRUE(std::is_nothrow_move_constructible_v<future<int>>);
    EXPECT_TRUE(std::is_nothrow_move_assignable_v<future<int>>);
}

TEST_P(Future, RunReturnsReferencesUnchanged) {
    int target = 1;
    const auto refer = [&target]() -> int& { return target; };
    EXPECT_TRUE((std::is_same_v<decltype(rt().run(refer)), int&>));
}

TEST_P(Future, TheResultCanBeTakenOnce) {
    rt().run([] {
        auto f = async([] { return 1; });
        EXPECT_TRUE(f.valid());
        EXPECT_EQ(f.get(), 1);
        EXPECT_FALSE(f.valid());
        EXPECT_THROW((void)f.get(), std::future_error);
        EXPECT_THROW(f.wait(), std::future_error);
        EXPECT_THROW((void)f.wait_for(1ms), std::future_error);
        EXPECT_THROW((void)f.is_ready(), std::future_error);
        future<int> empty;
        EXPECT_FALSE(empty.valid());
        EXPECT_THROW((void)empty.get(), std::future_error);
    });
}

TEST_P(Future, WaitForReportsWhetherTheResultIsReady) {
    rt().run([] {
        const chan<int> gate;
        auto f = async([gate] { return gate.recv().value_or(0); });
        EXPECT_FALSE(f.is_ready());
        const auto start = std::chrono::steady_clock::now();
        EXPECT_EQ(f.wait_for(3ms), std::future_status::timeout);
        EXPECT_GE(std::chrono::steady_clock::now() - start, 3ms);
        EXPECT_EQ(f.wait_for(0ms), std::future_status::timeout);
        EXPECT_EQ(f.wait_until(std::chrono::steady_clock::now() - 1h), std::future_status::timeout);
        gate.send(9);
        EXPECT_EQ(f.wait_for(1h), std::future_status::ready);
        EXPECT_EQ(f.wait_for(std::chrono::hours::max()), std::future_status::ready);
        EXPECT_EQ(f.wait_for(-1s), std::future_status::ready);
        EXPECT_TRUE(f.is_ready());
        f.wait();
        EXPECT_EQ(f.get(), 9);
    });
}

TEST_P(Future, AWaitRacingWithTheResultLosesNothing) {
    const int rounds = scaled(2000);
    rt().run([rounds] {
        for (int i = 0; i < rounds; ++i) {
            auto f = async([i] {
                if (i % 2 == 0) sleep_for(std::chrono::microseconds(i % 40));
                return i;
            });
            (void)f.wait_for(std::chrono::microseconds(i % 37));
            ASSERT_EQ(f.get(), i);
        }
    });
}

TEST_P(Future, DroppingItNeitherWaitsNorCancels) {
    const chan<int> gate;
    std::atomic<int> finished = 0;
    const auto start = [&] {
        return rt().async([&, gate] {
            gate.recv();
            return ++finished;
        });
    };
    rt().run([&] {
        { const auto dropped = start(); }
        auto replaced = start();
        replaced = rt().async([] { return 0; });
    });
    EXPECT_EQ(finished, 0);
    gate.send(1);
    gate.send(1);
    rt().drain();
    EXPECT_EQ(finished, 2);
}

TEST_P(Future, ResultsAreDestroyedWithTheLastOwner) {
    const long before = tracked::alive();
    const int rounds = scaled(500);
    rt().run([rounds] {
        for (int i = 0; i < rounds; ++i) {
            auto taken = async([i] { return tracked(i); });
            auto waited = async([i] { return tracked(i); });
            {
                const auto dropped = async([i] { return tracked(i); });
            }
            EXPECT_EQ(taken.get().value, i);
            waited.wait();
        }
    });
    rt().drain();
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(Future, TheFunctionIsDestroyedBeforeTheResultIsReady) {
    const int rounds = scaled(1000);
    const long left = rt().run([rounds] {
        const long before = tracked::alive();
        long most = 0;
        for (int i = 0; i < rounds; ++i) {
            async([t = tracked(i)] { return t.value; }).get();
            most = std::max(most, tracked::alive() - before);
        }
        return most;
    });
    EXPECT_EQ(left, 0);
}

// While it exists, counts the calls of the hook.
class unobserved_counter {
public:
    unobserved_counter() : previous_(set_unobserved_exception_hook(&count)) { calls_ = 0; }

    ~unobserved_counter() { set_unobserved_exception_hook(previous_); }

    unobserved_counter(const unobserved_counter&) = delete;
    unobserved_counter& operator=(const unobserved_counter&) = delete;

    [[nodiscard]] static int calls() { return calls_; }

private:
    static void count(const std::exception_ptr& e) {
        try {
            std::rethrow_exception(e);
        } catch (const std::runtime_error&) {
            ++calls_;
        } catch (...) {
            calls_ += 1'000'000;
        }
    }

    static inline std::atomic<int> calls_{0};
    const unobserved_exception_hook previous_;
};

TEST_P(Future, AnUnobservedExceptionReachesTheHookOnce) {
    const unobserved_counter hook;
    const chan<int> gate;
    const auto fails = [&rt = rt(), gate] {
        return rt.async([gate] {
            gate.recv();
            throw std::runtime_error("");
        });
    };
    { const auto dropped_before = fails(); }
    rt().run([&] {
        auto dropped_after = fails();
        gate.send(1);
        gate.send(1);
        dropped_after.wait();  // waiting does not take the value
    });
    rt().drain();
    eventually([] { return unobserved_counter::calls() >= 2; });
    EXPECT_EQ(hook.calls(), 2);
}

TEST_P(Future, AnObservedExceptionDoesNotReachTheHook) {
    const unobserved_counter hook;
    rt().run([] {
        for (int i = 0; i < 100; ++i)
            EXPECT_THROW(async([] { throw std::runtime_error(""); }).get(), std::runtime_error);
        async([] {}).get();
        (void)async([] { return 1; });
    });
    rt().drain();
    EXPECT_EQ(hook.calls(), 0);
}

TEST(UnobservedExceptions, SettingTheHookReturnsThePreviousOne) {
    const unobserved_exception_hook mine = [](const std::exception_ptr&) {};
    const unobserved_exception_hook original = set_unobserved_exception_hook(mine);
    EXPECT_EQ(set_unobserved_exception_hook(nullptr), mine);
    set_unobserved_exception_hook(original);
}

TEST_P(Future, ManyFuturesAddUp) {
    const int n = scaled(5000);
    const long sum = rt().run([n] {
        std::vector<future<int>> parts;
        for (int i = 0; i < n; ++i) parts.push_back(async([i] { return i; }));
        long total = 0;
        for (future<int>& f : parts) total += f.get();
        return total;
    });
    EXPECT_EQ(sum, long{n} * (n - 1) / 2);
}

long fibonacci(int n) {
    if (n < 2) return n;
    auto before = async([n] { return fibonacci(n - 2); });
    const long last = fibonacci(n - 1);
    return last + before.get();
}

TEST_P(Future, FuturesNest) {
    EXPECT_EQ(rt().run([] { return fibonacci(15); }), 610);
}

TEST_P(Future, OptionsApplyToTheGreenThread) {
    rt().run([] { EXPECT_EQ(async({.name = "weaver"}, [] { return std::string(this_g::name()); }).get(), "weaver"); });
    EXPECT_EQ(rt().async({.name = "dyer"}, [] { return std::string(this_g::name()); }).get(), "dyer");
}

}  // namespace
}  // namespace weft::test
