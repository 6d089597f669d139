// select_future_test.cc: waiting for futures among other things.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using SelectFuture = procs_test;
WEFT_SWEEP(SelectFuture);

TEST_P(SelectFuture, AReadyFutureIsChosenAtOnce) {
    rt().run([] {
        const chan<int> c;
        auto f = async([] { return 1; });
        f.wait();
        EXPECT_EQ(select(recv_case(c), ready_case(f), otherwise()).index(), 1U);
        EXPECT_EQ(select(on_recv(c, [](auto) {}), on_future(f, [] {})), 1U);
        EXPECT_EQ(f.get(), 1);
    });
}

TEST_P(SelectFuture, APendingFutureEndsTheWait) {
    const chan<int> gate;
    const chan<int> other;
    auto f = rt().async([gate] { return gate.recv().value_or(0); });
    std::atomic<int> got = 0;
    park(1, [&] {
        rt().go([&] { select(on_recv(other, [](auto) {}), on_future(f, [&] { got = f.is_ready() ? f.get() : -1; })); });
    });
    gate.send(5);
    rt().drain();
    EXPECT_EQ(got, 5);
    EXPECT_EQ(other.try_send(1), chan_status::would_block);
}

TEST_P(SelectFuture, ALosingFutureCanBeWaitedFor) {
    const chan<int> gate;
    const chan<int> other;
    auto f = rt().async([gate] { return gate.recv().value_or(0); });
    std::atomic<bool> lost = false;
    park(1, [&] { rt().go([&] { lost = select(ready_case(f), recv_case(other), ready_case(f)).index() == 1; }); });
    other.send(1);
    rt().run([&] {
        while (!lost) weft::yield();
        EXPECT_EQ(select(ready_case(f), otherwise()).index(), 1U);
        EXPECT_EQ(select(ready_case(f), timeout_case(1ms)).index(), 1U);
    });
    gate.send(6);
    EXPECT_EQ(f.get(), 6);
}

TEST_P(SelectFuture, TheFirstReadyFutureIsChosen) {
    rt().run([] {
        for (std::size_t first = 0; first < 3; ++first) {
            const chan<int> gates[3];
            future<int> f[3];
            for (int i = 0; i < 3; ++i) f[i] = async([g = gates[i]] { return g.recv().value_or(0); });
            go([g = gates[first]] { g.send(1); });
            EXPECT_EQ(select(ready_case(f[0]), ready_case(f[1]), ready_case(f[2])).index(), first);
            for (std::size_t i = 0; i < 3; ++i) {
                EXPECT_EQ(f[i].is_ready(), i == first);
                if (i != first) gates[i].send(1);
            }
            for (future<int>& each : f) EXPECT_EQ(each.get(), 1);
        }
    });
}

TEST_P(SelectFuture, AnExceptionMakesItReady) {
    rt().run([] {
        auto f = async([] { throw std::out_of_range("frayed"); });
        EXPECT_EQ(select(ready_case(f), timeout_case(1h)).index(), 0U);
        EXPECT_THROW(f.get(), std::out_of_range);
    });
}

TEST_P(SelectFuture, AnInvalidFutureThrowsWithoutEffect) {
    rt().run([] {
        const chan<int> c(1);
        const future<int> none;
        EXPECT_THROW(static_cast<void>(select(ready_case(none), send_case(c, 1))), std::future_error);
        EXPECT_EQ(c.len(), 0U);
    });
}

TEST_P(SelectFuture, APlainThreadMaySelectFutures) {
    const chan<int> gate;
    auto f = rt().async([gate] { return gate.recv().value_or(0); });
    std::thread other([gate] { gate.send(4); });
    EXPECT_EQ(select(ready_case(f), timeout_case(1h)).index(), 0U);
    EXPECT_EQ(f.get(), 4);
    other.join();
}

TEST_P(SelectFuture, SeveralSelectsMayWaitForOneFuture) {
    const chan<int> gate;
    auto f = rt().async([gate] { gate.recv(); });
    std::atomic<int> told = 0;
    park(12, [&] {
        for (int i = 0; i < 12; ++i)
            rt().go([&] { told += select(recv_case(chan<int>::nil()), ready_case(f)).index() == 1; });
    });
    gate.close();
    rt().drain();
    EXPECT_EQ(told, 12);
}

// The state may be freed as soon as the select has returned: its memory is reused at once.
TEST_P(SelectFuture, AFutureMayBeDestroyedRightAfterTheSelect) {
    const int rounds = scaled(5000);
    const int wrong = rt().run([rounds] {
        prng random(1);
        const chan<int> silent;
        int mistakes = 0;
        for (int i = 0; i < rounds; ++i) {
            auto f = async([i, wait = random.below(3)] {
                if (wait == 0) weft::yield();
                if (wait == 1) sleep_for(std::chrono::microseconds(i % 30));
                return std::make_unique<int>(i);
            });
            switch (random.below(3)) {
                case 0:
                    static_cast<void>(select(recv_case(silent), ready_case(f)));
                    mistakes += !f.is_ready() || *f.get() != i;
                    break;
                case 1:
                    if (select(ready_case(f), timeout_case(std::chrono::microseconds(random.below(40)))).index() == 0)
                        mistakes += *f.get() != i;
                    break;
                default:
                    mistakes += select(recv_case(silent), ready_case(f), ready_case(f), otherwise()).index() == 0;
                    break;
            }
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

// Every answer counts once, whichever of the two ways it comes.
TEST_P(SelectFuture, ResultsRacingWithValuesLoseNothing) {
    const int rounds = scaled(3000);
    const int wrong = rt().run([rounds] {
        int mistakes = 0;
        for (int i = 0; i < rounds; ++i) {
            const chan<int> c(1);
            auto f = async([c, i] {
                if (i % 2 == 0) c.send(1);
                return 2;
            });
            if (i % 2 != 0) go([c] { c.send(1); });
            const std::size_t first = select(recv_case(c), ready_case(f)).index();
            mistakes += first == 0 ? f.get() != 2 : c.recv() != 1 || f.get() != 2;
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::test
