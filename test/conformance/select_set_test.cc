// select_set_test.cc: selects whose cases are made, changed and removed while the program runs.

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
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
#include "support/random.h"
#include "support/scale.h"
#include "support/tally.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using SelectSet = procs_test;
WEFT_SWEEP(SelectSet);

TEST_P(SelectSet, DoesOneCaseAtATime) {
    rt().run([] {
        const chan<int> in(2);
        const chan<std::string> out(1);
        int received = 0;
        int sent = 0;
        select_set set;
        const std::size_t r = set.add_recv(in, [&](std::optional<int> v) { received += v.value_or(0); });
        const std::size_t s = set.add_send(out, "weft", [&] { ++sent; });
        EXPECT_EQ(set.size(), 2U);
        EXPECT_EQ(set.try_wait(), s);
        EXPECT_EQ(out.recv(), "weft");
        EXPECT_EQ(set.try_wait(), std::nullopt) << "a send that has happened rests";
        in.send(1);
        in.send(20);
        EXPECT_EQ(set.wait(), r);
        EXPECT_EQ(set.wait_for(1h), r);
        EXPECT_EQ(set.wait_for(0s), std::nullopt);
        EXPECT_EQ(set.wait_until(steady_clock::now() - 1s), std::nullopt);
        EXPECT_EQ(received, 21);
        EXPECT_EQ(sent, 1);
    });
}

TEST_P(SelectSet, ASendTakesANewValueEachTime) {
    rt().run([] {
        const chan<std::unique_ptr<int>> out(1);
        select_set set;
        const std::size_t s = set.add_send(out, std::make_unique<int>(0), [] {});
        for (int i = 0; i < 10; ++i) {
            EXPECT_EQ(set.wait(), s);
            EXPECT_EQ(**out.recv(), i);
            EXPECT_TRUE(set.set_value(s, std::make_unique<int>(i + 1)));
        }
        EXPECT_FALSE(set.set_value(s, 5)) << "not the type of the case";
        EXPECT_FALSE(set.set_value(s + 1, std::make_unique<int>(1)));
        set.remove(s);
        EXPECT_FALSE(set.set_value(s, std::make_unique<int>(1)));
        const std::size_t r = set.add_recv(out, [](auto) {});
        EXPECT_FALSE(set.set_value(r, std::make_unique<int>(1)));
    });
}

TEST_P(SelectSet, ALosingOrClosedSendKeepsItsValue) {
    rt().run([] {
        const chan<int> full;
        select_set set;
        const std::size_t s = set.add_send(full, 7, [] {});
        EXPECT_EQ(set.try_wait(), std::nullopt);
        EXPECT_EQ(set.wait_for(1ms), std::nullopt);
        go([full] { EXPECT_EQ(full.recv(), 7); });
        EXPECT_EQ(set.wait(), s);
        EXPECT_TRUE(set.set_value(s, 8));
        full.close();
        EXPECT_THROW(set.wait(), channel_closed);
        EXPECT_THROW(static_cast<void>(set.try_wait()), channel_closed) << "it stays ready until it is removed";
        set.remove(s);
        EXPECT_EQ(set.try_wait(), std::nullopt);
    });
}

TEST_P(SelectSet, NumbersOfRemovedCasesAreReused) {
    rt().run([] {
        select_set set;
        const chan<int> c;
        const auto ignore = [](auto) {};
        EXPECT_EQ(set.add_recv(c, ignore), 0U);
        EXPECT_EQ(set.add_recv(c, ignore), 1U);
        EXPECT_EQ(set.add_recv(c, ignore), 2U);
        set.remove(1);
        set.remove(1);
        set.remove(99);
        EXPECT_EQ(set.size(), 2U);
        EXPECT_EQ(set.add_recv(c, ignore), 1U);
        EXPECT_EQ(set.add_recv(c, ignore), 3U);
        for (std::size_t i = 0; i < 4; ++i) set.remove(i);
        EXPECT_EQ(set.size(), 0U);
        EXPECT_EQ(set.try_wait(), std::nullopt);
        EXPECT_EQ(set.wait_for(1ms), std::nullopt);
    });
}

TEST_P(SelectSet, KeepsHandlesOfItsChannels) {
    rt().run([] {
        select_set set;
        std::optional<int> got;
        {
            chan<int> c(1);
            c.send(3);
            set.add_recv(c, [&](std::optional<int> v) { got = v; });
            set.add_recv(recv_chan<int>(chan<int>::nil()), [](auto) {});
            set.add_send(send_chan<int>(chan<int>::nil()), 1, [] {});
        }
        EXPECT_EQ(set.wait(), 0U);
        EXPECT_EQ(got, 3);
    });
}

TEST_P(SelectSet, AFunctionMayChangeTheSetAndItself) {
    rt().run([] {
        select_set set;
        const chan<int> c(1);
        std::vector<int> calls;
        std::size_t self = 0;
        self = set.add_recv(c, [&, keep = std::make_unique<int>(5)](std::optional<int>) {
            set.remove(self);
            for (int i = 0; i < 100; ++i) set.add_recv(c, [&, i](auto) { calls.push_back(i); });
            calls.push_back(1000 + *keep);  // still valid, although the case is gone
        });
        c.send(0);
        EXPECT_EQ(set.wait(), self);
        EXPECT_EQ(calls, std::vector{1005});
        EXPECT_EQ(set.size(), 100U);
        c.send(0);
        EXPECT_LT(set.wait(), 101U);
        EXPECT_EQ(calls.size(), 2U);
    });
}

TEST_P(SelectSet, AFunctionMayWaitForTheSameSet) {
    rt().run([] {
        select_set set;
        const chan<int> c(10);
        int depth = 0;
        set.add_recv(c, [&](std::optional<int> v) {
            ++depth;
            if (*v > 0) set.wait();
        });
        for (int i = 9; i >= 0; --i) c.send(i);
        EXPECT_EQ(set.wait(), 0U);
        EXPECT_EQ(depth, 10);
        EXPECT_EQ(c.len(), 0U);
    });
}

TEST_P(SelectSet, AFunctionMayThrowAndTheSetIsUsableAfterwards) {
    rt().run([] {
        select_set set;
        const chan<int> c(2);
        int calls = 0;
        set.add_recv(c, [&](auto) {
            if (++calls == 1) throw std::out_of_range("frayed");
        });
        c.send(1);
        c.send(2);
        EXPECT_THROW(set.wait(), std::out_of_range);
        EXPECT_EQ(set.wait(), 0U);
        EXPECT_EQ(c.len(), 0U);
    });
}

TEST_P(SelectSet, IsUsableAfterACancelledWait) {
    rt().run([] {
        select_set set;
        const chan<int> c;
        set.add_recv(c, [](auto) {});
        EXPECT_THROW(with_timeout(1ms, [&] { set.wait(); }), timed_out);
        EXPECT_EQ(c.try_send(1), chan_status::would_block);
        go([c] { c.send(1); });
        EXPECT_EQ(set.wait(), 0U);
    });
}

TEST_P(SelectSet, ChoosesFairly) {
    const int trials = scaled(20000);
    constexpr int cases = 10;
    rt().run([trials] {
        select_set set;
        std::array<long, cases> chosen{};
        for (int i = 0; i < cases; ++i) {
            const chan<int> c(1);
            c.send(0);
            set.add_recv(c, [&chosen, i, c](auto) {
                ++chosen[static_cast<std::size_t>(i)];
                c.send(0);
            });
        }
        for (int t = 0; t < trials; ++t) set.wait();
        const double expected = trials / double{cases};
        for (const long n : chosen) {
            EXPECT_LE(std::abs(static_cast<double>(n) - expected), 10 * std::sqrt(expected * (1 - 1.0 / cases)));
        }
    });
}

// Every case of a wide select can be the one that is chosen, without effect on the others.
class WideSelect : public ::testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Widths, WideSelect, ::testing::Values(1U, 2U, 17U, 255U, 1024U), [](const auto& w) {
    return "Of" + std::to_string(w.param);
});

TEST_P(WideSelect, ServesEveryCase) {
    const std::size_t width = GetParam();
    runtime rt({.procs = 2});
    std::vector<chan<std::size_t>> channels(width);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < width; ++i) order.push_back(i);
    prng random(width);
    for (std::size_t i = width; i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);

    auto served = rt.async([&] {
        select_set set;
        tally seen(width);
        int wrong = 0;
        for (std::size_t i = 0; i < width; ++i) {
            set.add_recv(channels[i], [&seen, &wrong, i](std::optional<std::size_t> v) {
                wrong += v != i;
                seen.mark(i);
            });
        }
        for (std::size_t i = 0; i < width; ++i) set.wait();
        return wrong == 0 && seen.exactly_once();
    });
    for (const std::size_t i : order) channels[i].send(i);
    EXPECT_TRUE(served.get());
    for (const chan<std::size_t>& c : channels) EXPECT_EQ(c.try_send(0), chan_status::would_block);
}

// Many wide selects on the same channels: each locks all of them.
TEST_P(WideSelect, SeveralSelectsOverTheSameChannelsMeet) {
    const std::size_t width = GetParam();
    const int messages = scaled(width > 100 ? 200 : 2000);
    runtime rt({.procs = 4});
    std::vector<chan<int>> channels(width);
    tally seen(static_cast<std::size_t>(3 * messages));
    const chan<int> over;
    wait_group senders;
    senders.add(3);
    for (int s = 0; s < 3; ++s) {
        rt.go([&, s] {
            for (int i = 0; i < messages; ++i) {
                select_set set;
                const std::size_t turn = static_cast<std::size_t>(i + s);
                for (std::size_t k = 0; k < width; ++k) {
                    set.add_send(channels[(k + turn) % width], s * messages + i, [] {});
                }
                set.wait();
            }
            senders.done();
        });
        rt.go([&] {
            select_set set;
            bool open = true;
            set.add_recv(over, [&](auto) { open = false; });
            for (std::size_t k = width; k-- > 0;) {
                set.add_recv(channels[k],
                             [&](std::optional<int> v) { seen.mark(static_cast<std::size_t>(v.value_or(-1))); });
            }
            while (open) set.wait();
        });
    }
    senders.wait();
    over.close();
    rt.drain();
    EXPECT_TRUE(seen.exactly_once());
}

TEST_P(WideSelect, OneChannelMayBeInEveryCase) {
    const std::size_t width = GetParam();
    runtime rt({.procs = 2});
    const chan<int> c;
    auto sum = rt.async([&] {
        select_set set;
        int total = 0;
        for (std::size_t i = 0; i < width; ++i) set.add_recv(c, [&](std::optional<int> v) { total += v.value_or(0); });
        for (int i = 0; i < 10; ++i) set.wait();
        return total;
    });
    for (int i = 0; i < 10; ++i) c.send(1);
    EXPECT_EQ(sum.get(), 10);
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
}

TEST_P(SelectSet, APlainThreadWaitsForASet) {
    const chan<int> a;
    const chan<int> b;
    int sum = 0;
    std::thread waiting([&] {
        select_set set;
        int open = 2;
        std::array<std::size_t, 2> numbers{};
        const std::array<chan<int>, 2> both = {a, b};
        for (std::size_t i = 0; i < 2; ++i) {
            numbers[i] = set.add_recv(both[i], [&, i](std::optional<int> v) {
                sum += v.value_or(0);
                if (v) return;
                set.remove(numbers[i]);
                --open;
            });
        }
        while (open > 0) set.wait();
        EXPECT_EQ(set.size(), 0U);
    });
    rt().run([=] {
        for (int i = 0; i < 100; ++i) (i % 3 == 0 ? a : b).send(1);
        a.close();
        b.close();
    });
    waiting.join();
    EXPECT_EQ(sum, 100);
}

TEST_P(SelectSet, UnsentValuesAreDestroyedWithTheSet) {
    const long before = tracked::alive();
    rt().run([] {
        const chan<tracked> c;
        select_set set;
        for (int i = 0; i < 10; ++i) set.add_send(c, tracked(i), [] {});
        EXPECT_EQ(set.try_wait(), std::nullopt);
        set.remove(3);
        select_set moved = std::move(set);
        EXPECT_EQ(moved.size(), 9U);
        set = std::move(moved);
        set.add_recv(c, [](auto) {});
    });
    EXPECT_EQ(tracked::alive(), before);
}

}  // namespace
}  // namespace weft::test
