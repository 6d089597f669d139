// coroutine_test.cc: C++20 coroutines that await channels, futures and each other.

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using Coroutine = procs_test;
WEFT_SWEEP(Coroutine);

task<int> number(int n) { co_return n; }

task<std::string> failing() {
    throw std::runtime_error("dropped stitch");
    co_return "";
}

task<> produce(chan<int> to, int n) {
    for (int i = 1; i <= n; ++i) co_await co::send(to, i);
}

task<long> consume(chan<int> from) {
    long sum = 0;
    while (std::optional<int> n = co_await co::recv(from)) sum += *n;
    co_return sum;
}

task<int> depth(int n) {
    if (n == 0) co_return 0;
    co_return 1 + co_await depth(n - 1);
}

TEST_P(Coroutine, ATaskDeliversItsResultOrException) {
    rt().run([] {
        EXPECT_EQ(async(number(4)).get(), 4);
        EXPECT_THROW(async(failing()).get(), std::runtime_error);
        EXPECT_EQ(async(depth(1000)).get(), 1000);
    });
}

TEST_P(Coroutine, SelfAssignmentOfATaskHasNoEffect) {
    rt().run([] {
        task<int> t = number(1);
        task<int>& same = t;
        t = std::move(same);
        EXPECT_EQ(async(std::move(t)).get(), 1);
        t = number(2);
        t = number(3);
        EXPECT_EQ(async(std::move(t)).get(), 3);
    });
}

TEST_P(Coroutine, ATaskThatIsNotAwaitedNeverStarts) {
    bool began = false;
    const auto begin = [&]() -> task<> {
        began = true;
        co_return;
    };
    { const auto never = begin(); }
    EXPECT_FALSE(began);
    rt().run([&] { async(begin()).get(); });
    EXPECT_TRUE(began);
}

// Senders and receivers, as coroutines and as green threads, in all four combinations.
TEST_P(Coroutine, CoroutinesAndGreenThreadsShareChannels) {
    const int n = scaled(2'000);
    const long sum = static_cast<long>(n) * (n + 1) / 2;
    for (const std::size_t capacity : {0U, 1U, 7U}) {
        rt().run([&] {
            const auto green_produce = [n](chan<int> c) {
                for (int i = 1; i <= n; ++i) c.send(i);
            };
            const auto green_consume = [](chan<int> c) {
                long total = 0;
                for (const int v : c) total += v;
                return total;
            };
            for (int way = 0; way < 4; ++way) {
                const chan<int> c(capacity);
                future<void> from = (way & 1) != 0 ? async(produce(c, n)) : async([&] { green_produce(c); });
                future<long> to = (way & 2) != 0 ? async(consume(c)) : async([&] { return green_consume(c); });
                from.get();
                c.close();
                EXPECT_EQ(to.get(), sum) << "capacity " << capacity << ", way " << way;
            }
        });
    }
}

TEST_P(Coroutine, SendingOnAClosedChannelThrows) {
    rt().run([&] {
        const chan<int> closed;
        closed.close();
        EXPECT_THROW(async(produce(closed, 1)).get(), channel_closed);
        EXPECT_EQ(async(consume(closed)).get(), 0);
    });
    const chan<int> c;
    future<void> waiting;
    park(1, [&] { waiting = rt().run([&] { return async(produce(c, 1)); }); });
    c.close();
    EXPECT_THROW(waiting.get(), channel_closed);
}

task<int> add(future<int> a, future<int> b) { co_return co_await std::move(a) + co_await std::move(b); }

TEST_P(Coroutine, AwaitingAFutureEqualsGet) {
    rt().run([] {
        promise<int> a;
        promise<int> b;
        auto sum = async(add(a.get_future(), b.get_future()));
        b.set_value(2);
        weft::yield();
        a.set_value(40);
        EXPECT_EQ(sum.get(), 42);

        promise<int> fails;
        auto failed = async(add(fails.get_future(), async(number(1))));
        fails.set_exception(std::make_exception_ptr(std::out_of_range("")));
        EXPECT_THROW(failed.get(), std::out_of_range);
    });
}

task<int> blocks(chan<int> c) {
    const int first = *c.recv();  // parks the green thread that runs the coroutine
    co_return first + *co_await co::recv(c);
}

TEST_P(Coroutine, MayBlockLikeAnyOtherCodeOnAGreenThread) {
    rt().run([] {
        const chan<int> c;
        auto f = async(blocks(c));
        c.send(1);
        c.send(2);
        EXPECT_EQ(f.get(), 3);
    });
}

task<> relay(chan<int> from, chan<int> to) {
    while (std::optional<int> n = co_await co::recv(from)) co_await co::send(to, *n + 1);
    to.close();
}

TEST_P(Coroutine, AChainOfManyRelaysPassesEverythingOn) {
    const int links = scaled(500);
    rt().run([&] {
        const chan<int> first;
        chan<int> last = first;
        for (int i = 0; i < links; ++i) {
            const chan<int> next;
            static_cast<void>(async(relay(last, next)));
            last = next;
        }
        weft::go([first] {
            for (int i = 0; i < 10; ++i) first.send(i);
            first.close();
        });
        int expected = links;
        for (const int v : last) EXPECT_EQ(v, expected++);
        EXPECT_EQ(expected, links + 10);
    });
}

TEST_P(Coroutine, APlainThreadMayStartACoroutineAndSendToIt) {
    const chan<int> c;
    auto sum = rt().run([&] { return async(consume(c)); });
    std::thread plain([&] {
        for (int i = 1; i <= 100; ++i) c.send(i);
        c.close();
    });
    EXPECT_EQ(sum.get(), 5050);
    plain.join();
}

task<> holds(tracked t, chan<int> c) {
    co_await co::recv(c);
    static_cast<void>(t);
}

task<> holds_inside(tracked t, chan<int> c) {
    co_await holds(tracked(2), c);
    static_cast<void>(t);
}

// Coroutines that wait when their runtime ends are destroyed, from the outermost inwards.
TEST(CoroutineAtTheEnd, AnAbandonedCoroutineIsDestroyed) {
    const long before = tracked::alive();
    const chan<int> c;
    {
        runtime rt({.procs = 2});
        future<void> f = rt.run([&] { return async(holds_inside(tracked(1), c)); });
        while (rt.stats().parks == 0) std::this_thread::yield();
        rt.abandon();
        EXPECT_FALSE(f.is_ready());
    }
    EXPECT_EQ(tracked::alive(), before);
    EXPECT_EQ(c.try_send(1), chan_status::would_block) << "it is still in the queue";
}

}  // namespace
}  // namespace weft::test
