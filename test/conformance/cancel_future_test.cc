// cancel_future_test.cc: future::cancel: the owner of a future asks its green thread to end.

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
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

using CancelFuture = procs_test;
WEFT_SWEEP(CancelFuture);

TEST_P(CancelFuture, ANewGreenThreadRunsUntilItsFirstWait) {
    std::atomic<bool> started = false;
    rt().run([&] {
        auto f = async([&] {
            started = true;
            wait_for_ever();
            return 1;
        });
        f.cancel();
        EXPECT_THROW(f.get(), cancelled);
    });
    EXPECT_TRUE(started);
}

TEST_P(CancelFuture, EndsTheCurrentWait) {
    std::optional<future<int>> f;
    park(1, [&] {
        f = rt().async([] {
            wait_for_ever();
            return 1;
        });
    });
    f->cancel();
    EXPECT_THROW(f->get(), cancelled);
    EXPECT_FALSE(f->valid());
}

TEST_P(CancelFuture, TakesEffectAtTheNextWaitOrCheck) {
    std::atomic<bool> computing = false;
    std::atomic<bool> cancel_requested = false;
    auto waits = rt().async([&] {
        computing = true;
        busily([&] { return cancel_requested.load(); });
        wait_for_ever();
    });
    eventually([&] { return computing.load(); });
    waits.cancel();
    cancel_requested = true;
    EXPECT_THROW(waits.get(), cancelled);

    auto asks = rt().async([] {
        for (;;) throw_if_cancelled();
    });
    asks.cancel();
    EXPECT_THROW(asks.get(), cancelled);
}

TEST_P(CancelFuture, HasNoEffectAfterTheEnd) {
    rt().run([] {
        auto f = async([] { return std::make_unique<int>(8); });
        f.wait();
        f.cancel();
        f.cancel();
        EXPECT_EQ(*f.get(), 8);
        EXPECT_THROW(f.cancel(), std::future_error);
        auto failed = async([] { throw 7; });
        failed.wait();
        failed.cancel();
        EXPECT_THROW(failed.get(), int);
    });
}

TEST_P(CancelFuture, WithoutAWaitTheResultIsReturned) {
    rt().run([] {
        auto f = async([] {
            for (int i = 0; i < 100; ++i) weft::yield();
            return 5;
        });
        f.cancel();
        EXPECT_EQ(f.get(), 5);
    });
}

TEST_P(CancelFuture, AGreenThreadMayCatchItAndContinue) {
    std::optional<future<int>> f;
    park(1, [&] {
        f = rt().async([] {
            int struck = 0;
            for (int i = 0; i < 10; ++i) struck += ending_of(wait_for_ever) == ending::cancelled;
            return struck;
        });
    });
    f->cancel();
    EXPECT_EQ(f->get(), 10);
}

TEST_P(CancelFuture, AnyThreadMayCancelRepeatedlyAndConcurrently) {
    runtime other({.procs = 1});
    std::optional<future<void>> f;
    park(1, [&] { f = rt().async(wait_for_ever); });
    const auto cancel = [&f = *f] {
        for (int i = 0; i < 50; ++i) f.cancel();
    };
    std::thread plain(cancel);
    other.go(cancel);
    rt().go(cancel);
    plain.join();
    other.drain();
    rt().drain();
    EXPECT_THROW(f->get(), cancelled);
}

TEST_P(CancelFuture, AGreenThreadMayCancelItself) {
    rt().run([] {
        const chan<future<ending>*> itself;
        auto f = async([itself] {
            future<ending>* const me = itself.recv().value();
            me->cancel();
            return ending_of(wait_for_ever);
        });
        itself.send(&f);
        f.wait();
        EXPECT_EQ(f.get(), ending::cancelled);
    });
}

TEST_P(CancelFuture, ReachesScopesButNotIndependentGreenThreads) {
    const chan<int> gate;
    std::atomic<int> in_scope = 0;
    std::optional<future<void>> f;
    std::optional<future<ending>> independent;
    park(4, [&] {
        f = rt().async([&] {
            independent = async([&] { return ending_of([&] { gate.recv(); }); });
            scope([&](task_scope& s) {
                s.go([&] {
                    scope([&](task_scope& inner) {
                        inner.go([&] { in_scope += ending_of(wait_for_ever) == ending::cancelled; });
                        wait_for_ever();
                    });
                });
                with_timeout(1h, wait_for_ever);
            });
        });
    });
    f->cancel();
    EXPECT_THROW(f->get(), cancelled);
    EXPECT_EQ(in_scope, 1);
    EXPECT_FALSE(independent->is_ready());
    gate.send(1);
    EXPECT_EQ(independent->get(), ending::served);
}

TEST_P(CancelFuture, AWaitForTheFutureCanBeCancelled) {
    std::optional<future<void>> waiting;
    const chan<int> gate;
    auto slow = rt().async([gate] { return gate.recv(); });
    park(1, [&] { waiting = rt().async([&] { slow.wait(); }); });
    waiting->cancel();
    EXPECT_THROW(waiting->get(), cancelled);
    EXPECT_FALSE(slow.is_ready());
    EXPECT_TRUE(slow.valid());
    gate.send(2);
    EXPECT_EQ(slow.get(), 2);
}

// An interrupted get() has taken nothing.
TEST_P(CancelFuture, AGetThatTimedOutCanBeRepeated) {
    const chan<int> gate;
    auto slow = rt().async([gate] { return gate.recv(); });
    rt().run([&] {
        EXPECT_EQ(ending_of([&] { with_timeout(300us, [&] { return slow.get(); }); }), ending::timed_out);
        EXPECT_TRUE(slow.valid());
        gate.send(3);
        EXPECT_EQ(slow.get(), 3);
    });
}

// Being cancelled is not a failure that has to be reported.
TEST_P(CancelFuture, DroppingACancelledFutureIsNotReported) {
    const hook_counter hook;
    park(2, [&] {
        for (int i = 0; i < 2; ++i) {
            rt().go([] {
                auto f = async(wait_for_ever);
                static_cast<void>(f.wait_for(1ms));
                f.cancel();
            });
        }
    });
    rt().drain();
    EXPECT_EQ(hook.errors() + hook.others(), 0);
    // A failure of its own is reported.
    rt().run([] {
        auto f = async([] {
            try {
                wait_for_ever();
            } catch (const cancelled&) {
                throw std::runtime_error("could not roll back");
            }
        });
        f.cancel();
    });
    rt().drain();
    EXPECT_EQ(hook.errors(), 1);
    // So is an interruption that was not requested.
    rt().run([] { static_cast<void>(async([] { with_timeout(0s, wait_for_ever); })); });
    rt().drain();
    EXPECT_EQ(hook.others(), 1);
}

TEST_P(CancelFuture, DestroysTheObjectsOfTheFunction) {
    const long before = tracked::alive();
    const int rounds = scaled(500);
    rt().run([rounds] {
        for (int i = 0; i < rounds; ++i) {
            auto f = async([t = tracked(i)]() -> tracked {
                const tracked local(t.value);
                wait_for_ever();
                return tracked(0);
            });
            if (i % 2 == 0) weft::yield();
            f.cancel();
            if (i % 3 != 0) {
                EXPECT_THROW(f.get(), cancelled);
            }
        }
    });
    rt().drain();
    EXPECT_EQ(tracked::alive(), before);
}

// The cancellation comes before the green thread starts, while it waits, or after its end.
TEST_P(CancelFuture, DeliversEitherTheResultOrTheCancellation) {
    const int rounds = scaled(3000);
    std::atomic<int> wrong = 0;
    const auto live = [&](uint64_t seed, auto start) {
        prng random(seed);
        for (int i = 0; i < rounds; ++i) {
            const chan<int> c(1);
            std::atomic<bool> served = false;
            auto f = start([&served, c, i] {
                const int v = c.recv().value_or(-1);
                served = true;
                return v + i;
            });
            if (random.one_in(2)) c.send(1);
            for (int k = random.below(3); k > 0; --k) throw_if_cancelled();
            f.cancel();
            if (random.one_in(4)) static_cast<void>(c.try_send(1));
            try {
                wrong += f.get() != i + 1 || !served;
            } catch (const cancelled&) {
                wrong += served;
            }
        }
    };
    std::thread plain([&] { live(1, [&](auto f) { return rt().async(f); }); });
    rt().run([&] { live(2, [](auto f) { return async(f); }); });
    plain.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::test
