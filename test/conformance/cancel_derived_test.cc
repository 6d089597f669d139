// cancel_derived_test.cc: cancelling a future made of others, or of a promise: what that reaches
// and what not.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/for_ever.h"
#include "support/hook_counter.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using CancelThen = procs_test;
WEFT_SWEEP(CancelThen);
using CancelWhenAll = procs_test;
WEFT_SWEEP(CancelWhenAll);
using CancelWhenAny = procs_test;
WEFT_SWEEP(CancelWhenAny);
using CancelPromise = procs_test;
WEFT_SWEEP(CancelPromise);

// Waits until it is cancelled, and then takes some time to end. `ended` is set last.
auto slow_to_end(std::atomic<int>& ended) {
    return [&ended] {
        struct last {
            std::atomic<int>& ended;

            ~last() {
                for (int i = 0; i < 20; ++i) weft::yield();
                ++ended;
            }
        };

        const last l{ended};
        wait_for_ever();
        return 1;
    };
}

// ---- then

TEST_P(CancelThen, EndsTheAntecedentAndSkipsItsFunction) {
    std::atomic<int> ended = 0;
    bool called = false;
    std::optional<future<int>> f;
    park(1, [&] {
        f = rt().run([&] {
            return async(slow_to_end(ended)).then([&](int n) {
                called = true;
                return n;
            });
        });
    });
    f->cancel();
    EXPECT_THROW(f->get(), cancelled);
    EXPECT_EQ(ended, 1) << "get() returns when the work has ended";
    EXPECT_FALSE(called);
}

TEST_P(CancelThen, ReachesTheStartOfAChain) {
    std::atomic<int> ended = 0;
    std::atomic<int> called = 0;
    std::optional<future<std::string>> f;
    park(1, [&] {
        f = rt().run([&] {
            return async(slow_to_end(ended))
                .then([&](int n) { return called += n; })
                .then([&](int) { ++called; })
                .then([&] { return std::to_string(++called); });
        });
    });
    f->cancel();
    EXPECT_THROW(f->get(), cancelled);
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(called, 0);
}

TEST_P(CancelThen, InterruptsOnlyTheRunningFunctionOfAChain) {
    rt().run([&] {
        std::atomic<bool> in_second = false;
        auto f = async([] { return 1; })
                     .then([&](int n) {
                         in_second = true;
                         wait_for_ever();
                         return n;
                     })
                     .then([](int n) { return n; });
        eventually([&] { return in_second.load(); });
        f.cancel();
        EXPECT_THROW(f.get(), cancelled);
    });
}

TEST_P(CancelThen, DiscardsAResultReturnedAfterwards) {
    const long before = tracked::alive();
    rt().run([] {
        std::atomic<bool> computing = false;
        std::atomic<bool> go_on = false;
        bool called = false;
        auto f = async([&] {
                     computing = true;
                     eventually([&] { return go_on.load(); });
                     return tracked(3);
                 }).then([&](tracked t) {
            called = true;
            return t;
        });
        eventually([&] { return computing.load(); });
        f.cancel();
        EXPECT_FALSE(f.is_ready());
        go_on = true;
        EXPECT_THROW(f.get(), cancelled);
        EXPECT_FALSE(called);
    });
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(CancelThen, AnotherExceptionOfTheWorkIsThrown) {
    rt().run([] {
        auto f = async([]() -> int {
                     static_cast<void>(ending_of(wait_for_ever));
                     throw std::out_of_range("while it ended");
                 }).then([](int n) { return n; });
        f.cancel();
        EXPECT_THROW(f.get(), std::out_of_range);
    });
}

TEST_P(CancelThen, AReadyFutureIsUnchanged) {
    rt().run([] {
        auto f = async([] { return 1; }).then([](int n) { return n + 1; });
        f.wait();
        f.cancel();
        f.cancel();
        EXPECT_EQ(f.get(), 2);
        EXPECT_THROW(f.cancel(), std::future_error);
    });
}

TEST_P(CancelThen, EndsWorkOfAScopeWithoutCancellingTheScope) {
    rt().run([] {
        std::atomic<int> ended = 0;
        const chan<int> gate;
        int other = 0;
        scope([&](task_scope& s) {
            s.go([&] { other = gate.recv().value_or(0); });
            auto f = s.async(slow_to_end(ended)).then([](int n) { return n; });
            f.cancel();
            EXPECT_THROW(f.get(), cancelled);
            EXPECT_FALSE(s.cancelled());
            gate.send(7);
        });
        EXPECT_EQ(ended, 1);
        EXPECT_EQ(other, 7);
    });
}

// Only work that was consumed to make the future is cancelled. What its function merely waits for
// belongs to others.
TEST_P(CancelThen, DoesNotCancelSharedWork) {
    rt().run([] {
        const chan<int> gate;
        auto shared = async([gate] { return gate.recv().value_or(0); });
        auto waits = async([&shared] { shared.wait(); }).then([] { return 1; });

        single_flight<int, int> flights;
        std::atomic<int> calls = 0;
        const auto fetch = [&] {
            return flights.do_(1, [&] {
                ++calls;
                return gate.recv().value_or(0);
            });
        };
        auto first = async(fetch);
        eventually([&] { return calls == 1; });
        auto second = async(fetch).then([](int n) { return n; });

        waits.cancel();
        second.cancel();
        EXPECT_THROW(waits.get(), cancelled);
        EXPECT_THROW(second.get(), cancelled);
        EXPECT_FALSE(shared.is_ready());
        EXPECT_FALSE(first.is_ready());
        gate.send(5);
        gate.send(5);
        EXPECT_EQ(shared.get(), 5);
        EXPECT_EQ(first.get(), 5);
        EXPECT_EQ(calls, 1);
    });
}

TEST_P(CancelThen, AChainOfTenThousandNeedsNoStack) {
    rt().run([] {
        promise<int> p;
        future<int> f = p.get_future();
        for (int i = 0; i < 10'000; ++i) f = f.then([](int n) { return n + 1; });
        f.cancel();
        EXPECT_THROW(f.get(), cancelled);
        p.set_value(1);

        promise<int> q;
        future<int> g = q.get_future();
        for (int i = 0; i < 1'000; ++i) {
            std::vector<future<int>> pair;
            pair.push_back(std::move(g));
            pair.push_back(async([] {
                wait_for_ever();
                return 1;
            }));
            g = when_all(std::move(pair)).then([](const std::vector<int>& v) { return v[0] + v[1]; });
        }
        g.cancel();
        EXPECT_THROW(g.get(), cancelled);
    });
}

TEST_P(CancelThen, DroppingCancelsNothing) {
    rt().run([] {
        const chan<int> gate;
        std::atomic<int> got = 0;
        {
            auto f = async([gate] { return gate.recv().value_or(0); }).then([&](int n) { got = n; });
            EXPECT_EQ(f.wait_for(1us), std::future_status::timeout);
        }
        gate.send(4);
        eventually([&] { return got == 4; });
    });
}

// At any moment: before the work starts, while it waits, between it and the function, while the
// function waits, or when all is over.
TEST_P(CancelThen, DeliversEitherTheResultOrTheCancellation) {
    const int rounds = scaled(2000);
    std::atomic<int> wrong = 0;
    const auto live = [&](uint64_t seed) {
        prng random(seed);
        for (int i = 0; i < rounds; ++i) {
            const chan<int> c(1);
            const chan<int> d(1);
            auto f = rt().async([c] { return c.recv().value_or(-1); }).then([d](int n) {
                return n + d.recv().value_or(-1);
            });
            if (random.one_in(2)) c.send(1);
            if (random.one_in(2)) d.send(2);
            for (int k = random.below(4); k > 0; --k) weft::yield();
            std::optional<std::thread> other;
            if (random.one_in(16)) other.emplace([&f] { f.cancel(); });
            f.cancel();
            static_cast<void>(c.try_send(1));
            static_cast<void>(d.try_send(2));
            f.wait();
            if (other) other->join();
            try {
                wrong += f.get() != 3;
            } catch (const cancelled&) {}
        }
    };
    rt().run([&] { live(procs()); });
    rt().drain();
    EXPECT_EQ(wrong, 0);
}

// ---- when_all

TEST_P(CancelWhenAll, EndsAllPartsAndWaitsForThem) {
    std::atomic<int> ended = 0;
    std::optional<future<std::tuple<int, int, std::monostate>>> f;
    park(3, [&] {
        f = rt().run([&] {
            return when_all(async(slow_to_end(ended)), async(slow_to_end(ended)).then([](int n) { return n; }),
                            async([] {}));
        });
    });
    f->cancel();
    EXPECT_THROW(f->get(), cancelled);
    EXPECT_EQ(ended, 2);

    std::vector<future<int>> many;
    for (int i = 0; i < 50; ++i) many.push_back(rt().async(slow_to_end(ended)));
    auto all = rt().run([&] { return when_all(std::move(many)); });
    all.cancel();
    EXPECT_THROW(all.get(), cancelled);
    EXPECT_EQ(ended, 52);
}

TEST_P(CancelWhenAll, ResultsReturnedAfterwardsAreDelivered) {
    rt().run([] {
        auto all = when_all(async([] { return ending_of(wait_for_ever); }), async([] { return 2; }));
        all.cancel();
        const auto [first, second] = all.get();
        EXPECT_EQ(first, ending::cancelled);
        EXPECT_EQ(second, 2);
    });
}

TEST_P(CancelWhenAll, OnPromisesIsReadyAtOnce) {
    rt().run([] {
        promise<int> p;
        promise<void> q;
        auto all = when_all(p.get_future(), q.get_future());
        all.cancel();
        EXPECT_THROW(all.get(), cancelled);
    });
}

// ---- when_any

TEST_P(CancelWhenAny, EndsAllPartsAndReturnsTheirFutures) {
    rt().run([] {
        std::atomic<int> ended = 0;
        auto any = when_any(async(slow_to_end(ended)), async(slow_to_end(ended)));
        any.cancel();
        auto result = any.get();
        EXPECT_THROW(std::get<0>(result.futures).get(), cancelled);
        EXPECT_THROW(std::get<1>(result.futures).get(), cancelled);
        EXPECT_EQ(ended, 2);

        std::vector<future<int>> two;
        two.push_back(async(slow_to_end(ended)));
        two.push_back(async(slow_to_end(ended)));
        auto other = when_any(std::move(two)).then([](when_any_result<std::vector<future<int>>> r) {
            return std::move(r.futures);
        });
        other.cancel();
        EXPECT_THROW(static_cast<void>(other.get()), cancelled);
        eventually([&] { return ended == 4; });
    });
}

// Once the winner is known, the other futures belong to the result.
TEST_P(CancelWhenAny, DoesNotCancelLosersAfterAWinner) {
    rt().run([] {
        const chan<int> gate;
        const auto loser = [gate] { return gate.recv().value_or(0); };
        auto any = when_any(async(loser), async([] { return 2; }));
        any.wait();
        any.cancel();
        auto result = any.get();
        EXPECT_EQ(result.index, 1U);
        EXPECT_FALSE(std::get<0>(result.futures).is_ready());
        gate.send(9);
        EXPECT_EQ(std::get<0>(result.futures).get(), 9);

        std::vector<future<int>> two;
        two.push_back(async([] { return 1; }));
        two.push_back(async(loser));
        auto after = when_any(std::move(two)).then([](when_any_result<std::vector<future<int>>> r) {
            return std::move(r.futures[1]);
        });
        after.wait();
        after.cancel();
        auto still_running = after.get();
        EXPECT_FALSE(still_running.is_ready());
        gate.send(8);
        EXPECT_EQ(still_running.get(), 8);
    });
}

// ---- promise

TEST_P(CancelPromise, MakesTheFutureReadyAndDropsALaterValue) {
    const hook_counter hook;
    const long before = tracked::alive();
    rt().run([] {
        promise<tracked> p;
        auto f = p.get_future();
        auto waiting = async([&] { return ending_of([&] { return f.get().value; }); });
        f.cancel();
        EXPECT_EQ(waiting.get(), ending::cancelled);
        p.set_value(tracked(1));
        EXPECT_THROW(p.set_value(tracked(2)), std::future_error) << "it was given a value already";

        promise<int> q;
        auto g = q.get_future().then([](int n) { return n; });
        g.cancel();
        EXPECT_THROW(g.get(), cancelled);
        q.set_exception(std::make_exception_ptr(std::runtime_error("late")));

        future<int> h;
        {
            promise<int> dropped;
            h = dropped.get_future();
            h.cancel();
        }
        EXPECT_THROW(h.get(), cancelled);
    });
    EXPECT_EQ(tracked::alive(), before);
    EXPECT_EQ(hook.errors() + hook.others(), 0);
}

TEST_P(CancelPromise, KeepsAnExistingResult) {
    rt().run([] {
        promise<int> p;
        auto f = p.get_future();
        p.set_value(1);
        f.cancel();
        EXPECT_EQ(f.get(), 1);
    });
}

TEST_P(CancelPromise, AFailedStoreAllowsAnotherValueOrCancel) {
    struct stubborn {
        explicit stubborn(int v) : value(v) {}

        stubborn(const stubborn& other) : value(other.value) {
            if (value < 0) throw std::out_of_range("a negative one");
        }

        int value;
    };

    rt().run([] {
        promise<stubborn> p;
        auto f = p.get_future();
        EXPECT_THROW(p.set_value(stubborn(-1)), std::out_of_range);
        EXPECT_FALSE(f.is_ready());
        p.set_value(stubborn(1));
        EXPECT_EQ(f.get().value, 1);

        promise<stubborn> q;
        auto g = q.get_future();
        EXPECT_THROW(q.set_value(stubborn(-1)), std::out_of_range);
        g.cancel();
        EXPECT_THROW(static_cast<void>(g.get()), cancelled);
    });
}

// The cancellation comes while the value is being stored. It waits for the outcome of that.
TEST_P(CancelPromise, AValueBeingStoredWins) {
    struct during {
        future<during>* cancels;
        bool fails;

        during(future<during>* f, bool throws) : cancels(f), fails(throws) {}

        during(during&& other) : cancels(std::exchange(other.cancels, nullptr)), fails(other.fails) {
            if (cancels == nullptr) return;
            std::exchange(cancels, nullptr)->cancel();
            if (fails) throw std::out_of_range("too late");
        }
    };

    rt().run([] {
        promise<during> p;
        auto f = p.get_future();
        p.set_value(during(&f, false));
        EXPECT_FALSE(f.get().fails);

        promise<during> q;
        auto g = q.get_future();
        EXPECT_THROW(q.set_value(during(&g, true)), std::out_of_range);
        EXPECT_TRUE(g.is_ready());
        EXPECT_THROW(static_cast<void>(g.get()), cancelled);
    });
}

TEST_P(CancelPromise, DeliversEitherTheValueOrTheCancellation) {
    const int rounds = scaled(3000);
    std::atomic<int> wrong = 0;
    rt().run([&] {
        for (int i = 0; i < rounds; ++i) {
            promise<int> p;
            auto f = p.get_future();
            wait_group both;
            both.go([&] { p.set_value(i); });
            both.go([&] { f.cancel(); });
            try {
                f.wait();
                both.wait();
                wrong += f.get() != i;
            } catch (const cancelled&) {}
            both.wait();
        }
    });
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::test
