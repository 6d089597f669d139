// parallel_test.cc: forks, and the loops over them: results, order, exceptions, cancellation, and
// what may happen between fork and join.
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/big_stack.h>
#include <weft/parallel.h>
#include <weft/preemptible.h>
#include <weft/weft.h>

#include "support/captured.h"
#include "support/eventually.h"
#include "support/for_ever.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tally.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Parallel = procs_test;
WEFT_SWEEP(Parallel);

static_assert(!std::is_copy_constructible_v<forked<void (*)()>>);
static_assert(!std::is_move_constructible_v<forked<void (*)()>>);

template <typename Iterator>
concept is_sortable = requires(Iterator i) { parallel_sort(i, i); };
static_assert(is_sortable<int*>);
static_assert(!is_sortable<const int*>);

template <typename F>
concept is_loop_body = requires(F f) { parallel_for(0, 10, f); };
static_assert(is_loop_body<void (*)(int)>);
static_assert(!is_loop_body<void (*)(std::string)>);

// Returns when done, while the forks of the caller are offered. Requires: another P.
void offer_until(const std::atomic<bool>& done) {
    while (!done) checkpoint();
}

long fib(long n) {
    if (n < 2) return n;
    forked first([n] { return fib(n - 1); });
    const long second = fib(n - 2);
    return first.join() + second;
}

// ---- Forks.

TEST_P(Parallel, ARecursionOfForksHasTheResultOfCalls) {
    rt().run([] {
        for (int round = 0; round < 20; ++round) ASSERT_EQ(fib(19), 4181);
    });
}

TEST_P(Parallel, AForkReturnsValuesReferencesAndMoveOnlyThings) {
    rt().run([] {
        int target = 0;
        forked number([] { return 4; });
        forked reference([&]() -> int& { return target; });
        forked pointer([] { return std::make_unique<int>(6); });
        forked nothing([&] { target = 1; });
        nothing.join();
        EXPECT_EQ(*pointer.join(), 6);
        EXPECT_EQ(&reference.join(), &target);
        EXPECT_EQ(number.join(), 4);
        EXPECT_EQ(target, 1);
    });
}

TEST_P(Parallel, AnIdlePTakesAForkAndReturnsItsResult) {
    if (procs() == 1) GTEST_SKIP() << "no other P";
    rt().run([] {
        const uint64_t me = this_g::id();
        std::atomic<bool> began = false;
        int target = 0;
        const auto elsewhere = [&](auto result) {
            return [&, result = std::move(result)]() mutable -> decltype(result) {
                EXPECT_NE(this_g::id(), me);
                began = true;
                return std::move(result);
            };
        };
        forked number(elsewhere(std::string("woven")));
        offer_until(began);
        EXPECT_EQ(number.join(), "woven");
        began = false;
        forked reference([&]() -> int& {
            began = true;
            return target;
        });
        offer_until(began);
        EXPECT_EQ(&reference.join(), &target);
        began = false;
        forked pointer(elsewhere(std::make_unique<int>(6)));
        offer_until(began);
        EXPECT_EQ(*pointer.join(), 6);
    });
}

// Its address is not to be taken with &.
struct hides_address {
    int value = 0;

    hides_address* operator&() const { return nullptr; }  // NOLINT(google-runtime-operator): the test's subject
};

TEST_P(Parallel, ATakenForkReturnsAnyReferenceAndConstants) {
    if (procs() == 1) GTEST_SKIP() << "no other P";
    rt().run([] {
        std::atomic<bool> began = false;
        hides_address target{7};
        forked reference([&]() -> hides_address& {
            began = true;
            return target;
        });
        offer_until(began);
        EXPECT_EQ(reference.join().value, 7);
        began = false;
        forked constant([&]() -> std::add_const_t<std::string> {
            began = true;
            return "woven";
        });
        offer_until(began);
        EXPECT_EQ(constant.join(), "woven");
    });
}

TEST_P(Parallel, NoForkIsTakenFromCodeThatMustNotAllocate) {
    rt().run([] {
        const uint64_t me = this_g::id();
        uint64_t ran_in = 0;
        for (int round = 0; round < 20; ++round) {
            const preemptible here;
            forked call([&] { ran_in = this_g::id(); });
            for (int i = 0; i < 100; ++i) checkpoint();
            call.join();
            ASSERT_EQ(ran_in, me);
        }
    });
}

TEST_P(Parallel, WithoutAnIdlePAForkRunsInItsJoin) {
    if (procs() != 1) GTEST_SKIP() << "another P may be idle";
    rt().run([] {
        const uint64_t me = this_g::id();
        uint64_t ran_in = 0;
        const uint64_t spawned = stats().spawned;
        forked call([&] { ran_in = this_g::id(); });
        for (int i = 0; i < 10; ++i) checkpoint();
        EXPECT_EQ(ran_in, 0U);
        call.join();
        EXPECT_EQ(ran_in, me);
        EXPECT_EQ(stats().spawned, spawned);
    });
}

TEST_P(Parallel, ForksMayBeJoinedInAnyOrder) {
    rt().run([&] {
        for (int round = 0; round < scaled(200); ++round) {
            std::vector<std::unique_ptr<forked<std::function<int()>>>> forks;
            forks.reserve(9);
            for (int i = 0; i < 9; ++i) {
                forks.push_back(std::make_unique<forked<std::function<int()>>>([i] { return i; }));
            }
            int sum = 0;
            for (const std::size_t i : {4U, 8U, 0U, 1U, 7U, 3U, 2U, 6U}) sum += forks[i]->join();
            forks.clear();
            ASSERT_EQ(sum, 31);
        }
    });
}

TEST_P(Parallel, AForkMayWaitAndYield) {
    rt().run([&] {
        const chan<int> numbers;
        go([&] {
            for (int i = 0; i < 100; ++i) numbers.send(i);
        });
        std::atomic<int> sum = 0;
        const std::function<void(int)> receive = [&](int n) {
            if (n == 1) {
                weft::yield();
                sum += *numbers.recv();
                return;
            }
            forked half([&] { receive(n / 2); });
            receive(n - n / 2);
            half.join();
        };
        receive(100);
        EXPECT_EQ(sum, 4950);
    });
}

TEST_P(Parallel, TheCallerMayWaitAndMoveBetweenForkAndJoin) {
    rt().run([&] {
        scope([&](task_scope& s) {
            for (int g = 0; g < 8; ++g) {
                s.go([] {
                    for (int i = 0; i < 50; ++i) {
                        forked call([i] { return fib(i % 8); });
                        sleep_for(10us);
                        forked other([] {
                            weft::yield();
                            return 2;
                        });
                        weft::yield();
                        EXPECT_EQ(other.join(), 2);
                        EXPECT_EQ(call.join(), fib(i % 8));
                    }
                });
            }
        });
    });
}

TEST_P(Parallel, TheFunctionsAndResultsAreDestroyed) {
    const long before = tracked::alive();
    rt().run([&] {
        for (int round = 0; round < scaled(200); ++round) {
            forked call([t = tracked(round)]() mutable { return std::move(t); });
            forked dropped([t = tracked(1)]() mutable { return std::move(t); });
            if (round % 2 == 0) checkpoint();
            ASSERT_EQ(call.join().value, round);
        }
    });
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(Parallel, ForksOfABigStackAreThoseOfItsGreenThread) {
    rt().run([] {
        forked outer([] { return fib(5); });
        const long inner = on_big_stack(std::size_t{4} << 20, [] { return fib(12); });
        EXPECT_EQ(inner, 144);
        EXPECT_EQ(outer.join(), 5);
    });
}

TEST_P(Parallel, ATakenForkHasItsStartersPriorityAndStack) {
    if (procs() == 1) GTEST_SKIP() << "no other P";
    rt().run([] {
        wait_group done;
        done.add(1);
        go({.stack_size = std::size_t{2} << 20, .priority = priority::high}, [&] {
            std::atomic<bool> began = false;
            forked call([&] {
                EXPECT_EQ(this_g::priority(), priority::high);
                EXPECT_GT(this_g::stack_left(), std::size_t{1} << 20);
                began = true;
            });
            offer_until(began);
            call.join();
            done.done();
        });
        done.wait();
    });
}

TEST_P(Parallel, AForkTakenFromABigStackHasOne) {
    if (procs() == 1) GTEST_SKIP() << "no other P";
    rt().run([] {
        constexpr std::size_t size = std::size_t{4} << 20;
        on_big_stack(size, [] {
            std::atomic<bool> began = false;
            std::size_t left = 0;
            forked call([&] {
                left = this_g::stack_left();
                began = true;
            });
            offer_until(began);
            call.join();
            EXPECT_GT(left, size / 2);
        });
    });
}

TEST_P(Parallel, ATakenForkHasItsStartersFloatingPointControl) {
    if (procs() == 1) GTEST_SKIP() << "no other P";
    rt().run([] {
        wait_group done;
        done.go({.own_fp_control = true}, [] {
            ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
            std::atomic<bool> began = false;
            int rounding = FE_TONEAREST;
            forked call([&] {
                rounding = std::fegetround();
                began = true;
            });
            offer_until(began);
            call.join();
            EXPECT_EQ(rounding, FE_UPWARD);
        });
        done.wait();
    });
}

// ---- Exceptions.

TEST_P(Parallel, TheExceptionOfAForkLeavesItsJoin) {
    rt().run([&] {
        for (int round = 0; round < scaled(200); ++round) {
            forked call([]() -> int { throw std::out_of_range("frayed"); });
            if (round % 2 == 0) checkpoint();
            EXPECT_THROW(static_cast<void>(call.join()), std::out_of_range);
        }
    });
}

TEST_P(Parallel, AnExceptionOfTheCallerEndsItsForksFirst) {
    rt().run([&] {
        for (int round = 0; round < scaled(200); ++round) {
            std::atomic<int> running = 0;
            EXPECT_THROW(
                [&] {
                    forked waits([&] {
                        ++running;
                        EXPECT_EQ(ending_of(wait_for_ever), ending::cancelled);
                        --running;
                    });
                    forked other([&] { EXPECT_EQ(ending_of(wait_for_ever), ending::cancelled); });
                    if (round % 2 == 0) checkpoint();
                    throw std::out_of_range("frayed");
                }(),
                std::out_of_range);
            ASSERT_EQ(running, 0);
        }
    });
}

TEST_P(Parallel, AForkThatHasNotBegunIsNeverCalledAfterAnException) {
    if (procs() != 1) GTEST_SKIP() << "another P may begin it";
    rt().run([] {
        int calls = 0;
        EXPECT_THROW(parallel_invoke([&] { ++calls; }, [&] { ++calls; }, [] { throw 7; }), int);
        EXPECT_EQ(calls, 0);
        EXPECT_THROW(parallel_invoke([&] { ++calls; }, [] { throw 7; }, [&] { ++calls; }), int);
        EXPECT_EQ(calls, 1);
    });
}

TEST_P(Parallel, TheDroppedExceptionGoesToTheHook) {
    if (procs() == 1) GTEST_SKIP() << "no other P";
    static std::atomic<int> dropped = 0;
    dropped = 0;
    const auto before = set_unobserved_exception_hook([](const std::exception_ptr&) { ++dropped; });
    rt().run([] {
        std::atomic<bool> began = false;
        {
            forked call([&] {
                began = true;
                throw std::out_of_range("frayed");
            });
            offer_until(began);
        }
        EXPECT_EQ(dropped, 1);
        began = false;
        {
            forked call([&] {
                began = true;
                wait_for_ever();
            });
            offer_until(began);
        }
        EXPECT_EQ(dropped, 1);  // its cancellation is not reported
    });
    set_unobserved_exception_hook(before);
}

// ---- Cancellation.

TEST_P(Parallel, AForkIsCancelledWithTheScopeAroundIt) {
    if (procs() == 1) GTEST_SKIP() << "no other P";
    rt().run([] {
        std::atomic<int> cancelled_waits = 0;
        scope([&](task_scope& s) {
            std::atomic<bool> began = false;
            forked call([&] {
                began = true;
                cancelled_waits += ending_of(wait_for_ever) == ending::cancelled;
            });
            offer_until(began);
            s.cancel();
            call.join();
        });
        EXPECT_EQ(cancelled_waits, 1);
    });
}

TEST_P(Parallel, TheContextOfAForkIsThatOfItsPlaceNotOfItsPromotion) {
    if (procs() == 1) GTEST_SKIP() << "no other P";
    rt().run([] {
        std::atomic<bool> began = false;
        std::atomic<bool> goes_on = false;
        forked call([&] {
            began = true;
            while (!goes_on) weft::yield();
            return ending_of([] { sleep_for(1ms); });
        });
        const ending inner = ending_of([&] {
            with_timeout(1ns, [&] {
                offer_until(began);  // promotes it in here
                sleep_for(1h);
            });
        });
        EXPECT_EQ(inner, ending::timed_out);
        goes_on = true;
        EXPECT_EQ(call.join(), ending::served);
    });
}

TEST_P(Parallel, AShieldProtectsATakenFork) {
    if (procs() == 1) GTEST_SKIP() << "no other P";
    const chan<int> goodbye;
    std::atomic<ending> how = ending::cancelled;
    park(3, [&] {
        rt().go([&] {
            shield([&] {
                std::atomic<bool> began = false;
                forked call([&] {
                    began = true;
                    return ending_of([&] { static_cast<void>(goodbye.recv()); });
                });
                offer_until(began);
                how = call.join();
            });
        });
        rt().go([&] {
            try {
                sleep_for(1h);
            } catch (const cancelled&) {
                shield([&] { static_cast<void>(goodbye.try_send(1)); });
            }
        });
    });
    static_cast<void>(rt().shutdown(10s));
    EXPECT_EQ(how, ending::served);
}

// ---- parallel_invoke.

TEST_P(Parallel, InvokeCallsEachFunctionOnce) {
    rt().run([&] {
        for (int round = 0; round < scaled(100); ++round) {
            tally calls(5);
            parallel_invoke([&] { calls.mark(0); }, [&] { calls.mark(1); }, [&] { calls.mark(2); },
                            [&] { calls.mark(3); }, [&] { calls.mark(4); });
            ASSERT_TRUE(calls.exactly_once());
            parallel_invoke([&] { calls.mark(0); });
            ASSERT_EQ(calls.count(0), 2U);
        }
    });
}

// ---- Loops.

TEST_P(Parallel, ForCallsEachIndexOnce) {
    rt().run([] {
        for (const std::size_t count : {0U, 1U, 2U, 3U, 31U, 1000U, 10'000U}) {
            for (const std::size_t grain : {0U, 1U, 7U, 100'000U}) {
                tally calls(count);
                parallel_for(std::size_t{0}, count, [&](std::size_t i) { calls.mark(i); }, {.grain = grain});
                ASSERT_TRUE(calls.exactly_once()) << count << " iterations, grain " << grain;
            }
        }
    });
}

TEST_P(Parallel, ForTakesAnyIntegers) {
    rt().run([] {
        std::atomic<int> sum = 0;
        parallel_for(-3, 3, [&](int i) { sum += i; });
        EXPECT_EQ(sum, -3);
        parallel_for(3, -3, [&](int) { sum += 100; });
        EXPECT_EQ(sum, -3);
        constexpr int8_t low = std::numeric_limits<int8_t>::min();
        parallel_for(low, int8_t{-1}, [&](int8_t i) { sum += i; }, {.grain = 1000});
        EXPECT_EQ(sum, -3 - 8255);
        parallel_for(0, std::size_t{10}, [&](auto i) {
            static_assert(std::is_same_v<decltype(i), std::size_t>);
            sum += static_cast<int>(i);
        });
    });
}

TEST_P(Parallel, ForWaitsForIterationsThatBlock) {
    rt().run([&] {
        std::atomic<int> ended = 0;
        parallel_for(0, 64, [&](int i) {
            if (i % 3 == 0) sleep_for(100us);
            weft::yield();
            ++ended;
        });
        EXPECT_EQ(ended, 64);
    });
}

TEST_P(Parallel, TheFirstExceptionEndsALoop) {
    rt().run([] {
        for (const std::size_t grain : {0U, 1U, 16U}) {
            std::atomic<int> calls = 0;
            EXPECT_THROW(parallel_for(0, 1 << 20,
                                      [&](int i) {
                                          if (i == 0) throw std::out_of_range("frayed");
                                          ++calls;
                                      },
                                      {.grain = grain}),
                         std::out_of_range);
            EXPECT_LT(calls, (1 << 20) - 1);
        }
    });
}

TEST_P(Parallel, ReduceKeepsTheOrder) {
    rt().run([] {
        std::string expected;
        for (int i = 0; i < 2000; ++i) expected += std::to_string(i) + " ";
        for (const std::size_t grain : {0U, 1U, 13U}) {
            const std::string joined = parallel_reduce(
                0, 2000, std::string(), [](int i) { return std::to_string(i) + " "; }, std::plus<>(), {.grain = grain});
            ASSERT_EQ(joined, expected) << "grain " << grain;
        }
        EXPECT_EQ(parallel_reduce(5, 5, 42, [](int) { return 1; }), 42);
        EXPECT_EQ(parallel_reduce(0, 100'000, int64_t{0}, [](int i) { return int64_t{i}; }), int64_t{4'999'950'000});
    });
}

TEST_P(Parallel, ReduceWithAGrainHasTheSameSumInEachRun) {
    rt().run([] {
        const auto sum = [] {
            return parallel_reduce(0, 50'000, 0.0, [](int i) { return 1.0 / (i + 1); }, std::plus<>(), {.grain = 64});
        };
        const double first = sum();
        for (int i = 0; i < 10; ++i) ASSERT_EQ(sum(), first);
    });
}

TEST_P(Parallel, LoopsNest) {
    rt().run([] {
        std::vector<std::atomic<int>> cells(64 * 64);
        parallel_for(0U, 64U, [&](unsigned row) {
            parallel_for(0U, 64U, [&](unsigned column) { ++cells[row * 64 + column]; });
        });
        EXPECT_TRUE(std::all_of(cells.begin(), cells.end(), [](const auto& c) { return c == 1; }));
    });
}

// ---- Sorting.

uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15U;
    return x ^ (x >> 29);
}

TEST_P(Parallel, SortAgreesWithStdSort) {
    rt().run([] {
        const auto n = static_cast<std::size_t>(scaled(30'000));
        const std::vector<std::function<uint64_t(uint64_t)>> shapes = {
            [](uint64_t i) { return mixed(i + 1); },            // random
            [](uint64_t i) { return mixed(i + 1) % 5; },        // few values
            [](uint64_t) { return uint64_t{7}; },               // one value
            [](uint64_t i) { return i; },                       // sorted
            [](uint64_t i) { return ~i; },                      // reversed
            [n](uint64_t i) { return i < n / 2 ? i : n - i; },  // a hill
        };
        for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
            for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1025}, n}) {
                std::vector<uint64_t> values(size);
                for (std::size_t i = 0; i < size; ++i) values[i] = shapes[shape](i);
                std::vector<uint64_t> expected = values;
                std::sort(expected.begin(), expected.end());
                parallel_sort(values.begin(), values.end());
                ASSERT_EQ(values, expected) << "shape " << shape << ", size " << size;
                std::reverse(expected.begin(), expected.end());
                parallel_sort(values.begin(), values.end(), std::greater<>());
                ASSERT_EQ(values, expected) << "shape " << shape << ", size " << size << ", falling";
            }
        }
    });
}

TEST_P(Parallel, SortMovesAndThrows) {
    rt().run([] {
        std::vector<std::unique_ptr<int>> values;
        values.reserve(5000);
        for (int i = 0; i < 5000; ++i) values.push_back(std::make_unique<int>((i * 7919) % 5000));
        parallel_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return *a < *b; });
        for (int i = 0; i < 5000; ++i) ASSERT_EQ(*values[static_cast<std::size_t>(i)], i);
        std::atomic<int> left = 20'000;
        EXPECT_THROW(parallel_sort(values.begin(), values.end(),
                                   [&](const auto& a, const auto& b) {
                                       if (--left == 0) throw std::out_of_range("frayed");
                                       return *a > *b;
                                   }),
                     std::out_of_range);
        EXPECT_LE(left, 0);
    });
}

// As some types, it loses its value when it is moved to itself.
struct fragile {
    int value = 0;

    explicit fragile(int v) : value(v) {}

    fragile(fragile&&) noexcept = default;

    fragile& operator=(fragile&& from) noexcept {
        EXPECT_NE(this, std::addressof(from));
        value = from.value;
        return *this;
    }

    ~fragile() = default;
    fragile(const fragile&) = delete;
    fragile& operator=(const fragile&) = delete;
};

TEST_P(Parallel, SortMovesNoElementToItself) {
    rt().run([] {
        std::vector<fragile> values;
        values.reserve(5000);
        for (int i = 0; i < 5000; ++i) values.emplace_back(1);
        parallel_sort(values.begin(), values.end(),
                      [](const fragile& a, const fragile& b) { return a.value < b.value; });
        EXPECT_EQ(values.front().value, 1);
    });
}

// ---- Plain threads.

TEST_P(Parallel, APlainThreadsCallsRunInAGreenThread) {
    std::atomic<int> outside = 0;
    std::atomic<int> calls = 0;
    const auto look = [&] {
        ++calls;
        outside += this_g::id() == 0;
    };
    parallel_invoke(look, look, look);
    parallel_invoke(look);
    parallel_for(0, 10, [&](int) { look(); });
    EXPECT_EQ(parallel_reduce(0, 10, 0, [&](int i) { return look(), i; }), 45);
    EXPECT_EQ(calls, 24);
    EXPECT_EQ(outside, 0);
    std::vector<int> values = {3, 1, 2};
    parallel_sort(values.begin(), values.end());
    EXPECT_EQ(values, (std::vector<int>{1, 2, 3}));
    EXPECT_THROW(parallel_for(0, 10, [](int) { throw std::out_of_range("frayed"); }), std::out_of_range);
    forked call([] { return this_g::id(); });
    EXPECT_TRUE(call.only_here());
    EXPECT_EQ(call.join(), 0U);
    eventually([] { return stats().live == 0; });
}

}  // namespace
}  // namespace weft::test
