// select_choice_test.cc: which of several ready cases is chosen: each equally often, or the first
// in order.

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using SelectChoice = procs_test;
WEFT_SWEEP(SelectChoice);

// Whether the hits of n independent trials of this probability lie within ten standard deviations
// of the expectation. A fair choice fails that once in 10^22 runs.
::testing::AssertionResult fair(long hits, long n, double probability) {
    const double expected = static_cast<double>(n) * probability;
    const double sigma = std::sqrt(expected * (1 - probability));
    if (std::abs(static_cast<double>(hits) - expected) <= 10 * sigma) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << hits << " of " << n << ", where " << expected << " were expected, sigma "
                                         << sigma;
}

// N channels with room for one value, all of them full.
template <std::size_t N>
std::array<chan<int>, N> full_channels() {
    std::array<chan<int>, N> all;
    for (chan<int>& c : all) {
        c = chan<int>(1);
        c.send(0);
    }
    return all;
}

template <std::size_t N, std::size_t... I>
std::size_t receive_from_any(const std::array<chan<int>, N>& c, std::index_sequence<I...> /*all*/) {
    return select(on_recv(c[I], [](auto) {})...);
}

template <std::size_t N>
std::array<long, N> times_chosen(int trials) {
    const std::array<chan<int>, N> c = full_channels<N>();
    std::array<long, N> chosen{};
    for (int i = 0; i < trials; ++i) {
        const std::size_t which = receive_from_any(c, std::make_index_sequence<N>{});
        ++chosen[which];
        c[which].send(0);
    }
    return chosen;
}

TEST_P(SelectChoice, EveryReadyCaseIsChosenEquallyOften) {
    const int trials = scaled(20000);
    rt().run([trials] {
        for (const long n : times_chosen<2>(trials)) EXPECT_TRUE(fair(n, trials, 1.0 / 2));
        for (const long n : times_chosen<3>(trials)) EXPECT_TRUE(fair(n, trials, 1.0 / 3));
        for (const long n : times_chosen<8>(trials)) EXPECT_TRUE(fair(n, trials, 1.0 / 8));
        for (const long n : times_chosen<13>(trials)) EXPECT_TRUE(fair(n, trials, 1.0 / 13));
    });
}

TEST_P(SelectChoice, APlainThreadChoosesAsFairly) {
    const int trials = scaled(20000);
    for (const long n : times_chosen<3>(trials)) EXPECT_TRUE(fair(n, trials, 1.0 / 3));
}

// A choice that went on from a random case to the next ready one would prefer the case behind a
// gap.
TEST_P(SelectChoice, CasesThatAreNotReadyDoNotShiftTheChoice) {
    const int trials = scaled(20000);
    rt().run([trials] {
        const chan<int> empty;
        const chan<int> nil = chan<int>::nil();
        const chan<int> a(1);
        const chan<int> b(1);
        a.send(0);
        b.send(0);
        long first = 0;
        for (int i = 0; i < trials; ++i) {
            const auto ignore = [](auto) {};
            const std::size_t which = select(on_recv(empty, ignore), on_recv(nil, ignore), on_recv(empty, ignore),
                                             on_recv(empty, ignore), on_recv(a, ignore), on_recv(b, ignore));
            first += which == 4;
            (which == 4 ? a : b).send(0);
        }
        EXPECT_TRUE(fair(first, trials, 0.5));
    });
}

TEST_P(SelectChoice, SuccessiveChoicesAreIndependent) {
    const int trials = scaled(20000);
    rt().run([trials] {
        const auto c = full_channels<2>();
        std::array<std::array<long, 2>, 2> pairs{};
        std::size_t before = receive_from_any(c, std::make_index_sequence<2>{});
        c[before].send(0);
        for (int i = 0; i < trials; ++i) {
            const std::size_t now = receive_from_any(c, std::make_index_sequence<2>{});
            c[now].send(0);
            ++pairs[before][now];
            before = now;
        }
        for (const auto& row : pairs) {
            for (const long n : row) EXPECT_TRUE(fair(n, trials, 0.25));
        }
    });
}

// Many green threads contribute one bit each, at their first choice ever. They must not all choose
// alike.
TEST_P(SelectChoice, TheFirstChoiceOfAGreenThreadIsAsRandomAsTheOthers) {
    const int trials = scaled(5000);
    std::atomic<long> first = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < trials; ++i) {
            all.go([&first] {
                const auto c = full_channels<2>();
                first += receive_from_any(c, std::make_index_sequence<2>{}) == 0;
            });
        }
        all.wait();
    });
    EXPECT_TRUE(fair(first, trials, 0.5));
}

TEST_P(SelectChoice, SendsOfZeroAndOneAreBalanced) {
    const int trials = scaled(20000);
    const long ones = rt().run([trials] {
        const chan<int> c;
        go([c, trials] {
            for (int i = 0; i < trials; ++i) select(on_send(c, 0, [] {}), on_send(c, 1, [] {}));
        });
        long sum = 0;
        for (int i = 0; i < trials; ++i) sum += c.recv().value_or(0);
        return sum;
    });
    EXPECT_TRUE(fair(ones, trials, 0.5));
}

TEST_P(SelectChoice, SendingAndReceivingAreChosenEquallyOften) {
    const int trials = scaled(20000);
    rt().run([trials] {
        const chan<int> in(1);
        const chan<int> out(1);
        in.send(0);
        long sent = 0;
        for (int i = 0; i < trials; ++i) {
            if (select(recv_case(in), send_case(out, 1)).index() == 0) {
                in.send(0);
            } else {
                ++sent;
                out.recv();
            }
        }
        EXPECT_TRUE(fair(sent, trials, 0.5));
    });
}

TEST_P(SelectChoice, FuturesAndClosedChannelsAreChosenAsOftenAsOthers) {
    const int trials = scaled(20000);
    rt().run([trials] {
        const chan<int> shut;
        shut.close();
        const chan<int> full(1);
        full.send(0);
        auto done = async([] { return 1; });
        done.wait();
        std::array<long, 3> chosen{};
        for (int i = 0; i < trials; ++i) {
            const std::size_t which = select(recv_case(shut), ready_case(done), recv_case(full)).index();
            ++chosen[which];
            if (which == 2) full.send(0);
        }
        for (const long n : chosen) EXPECT_TRUE(fair(n, trials, 1.0 / 3));
    });
}

// Others feed the channels as fast as possible. The choice is fair then, too.
TEST_P(SelectChoice, TwoSendersThatNeverPauseAreServedEquallyOften) {
    const int trials = scaled(20000);
    rt().run([trials] {
        const chan<int> a(static_cast<std::size_t>(trials) + 1);
        const chan<int> b(static_cast<std::size_t>(trials) + 1);
        for (int i = 0; i < trials; ++i) {
            a.send(0);
            b.send(0);
        }
        const chan<int> merged;
        go([=] {
            for (int i = 0; i < trials; ++i) merged.send(select(recv_case(a), recv_case(b)).index() == 0 ? 0 : 1);
        });
        long ones = 0;
        for (int i = 0; i < trials; ++i) ones += merged.recv().value_or(0);
        EXPECT_TRUE(fair(ones, trials, 0.5));
    });
}

TEST_P(SelectChoice, SelectFirstTakesTheFirstReadyCase) {
    const int trials = scaled(500);
    rt().run([trials] {
        const auto ignore = [](auto) {};
        for (int i = 0; i < trials; ++i) {
            const chan<int> empty(1);
            const auto c = full_channels<3>();
            EXPECT_EQ(select_first(on_recv(empty, ignore), on_recv(c[0], ignore), on_recv(c[1], ignore)), 1U);
            EXPECT_EQ(select_first(on_recv(c[0], ignore), on_recv(c[1], ignore), on_recv(c[2], ignore)), 1U);
            EXPECT_EQ(select_first(on_recv(c[0], ignore), on_recv(c[1], ignore), on_recv(c[2], ignore)), 2U);
            EXPECT_EQ(select_first(on_recv(c[0], ignore), on_send(empty, 1, [] {}), on_send(c[1], 1, [] {})), 1U);
            EXPECT_EQ(select_first(send_case(empty, 1), send_case(c[1], 1), recv_case(empty)).index(), 1U);
            EXPECT_EQ(select_first(recv_case(c[2]), timeout_case(0s)).index(), 1U);
        }
    });
}

// When select_first has to wait, the first case to become ready is served: cases that are not ready
// have no order.
TEST_P(SelectChoice, SelectFirstWaitsForAllOfItsCases) {
    for (int which = 0; which < 3; ++which) {
        const std::array<chan<int>, 3> c;
        std::atomic<std::size_t> chosen = 99;
        park(1, [&] {
            rt().go([&] {
                chosen =
                    select_first(on_recv(c[0], [](auto) {}), on_recv(c[1], [](auto) {}), on_recv(c[2], [](auto) {}));
            });
        });
        c[static_cast<std::size_t>(which)].send(1);
        rt().drain();
        EXPECT_EQ(chosen, static_cast<std::size_t>(which));
    }
}

}  // namespace
}  // namespace weft::test
