// chan_range_test.cc: a channel as a range: what loops, algorithms and views receive, and when. And
// the truth of a chan_status.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <ranges>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"

namespace weft::test {
namespace {

static_assert(std::ranges::input_range<chan<int>>);
static_assert(std::ranges::input_range<const chan<int>>);
static_assert(std::ranges::input_range<recv_chan<int>>);
static_assert(std::ranges::input_range<chan<std::unique_ptr<int>>>);
static_assert(!std::ranges::range<send_chan<int>>);
static_assert(!std::ranges::forward_range<chan<int>>);
static_assert(!std::ranges::sized_range<chan<int>>);  // size() counts what is buffered, not the elements
static_assert(!std::ranges::sized_range<recv_chan<int>>);
static_assert(std::ranges::viewable_range<chan<int>&>);
static_assert(std::same_as<std::ranges::range_reference_t<chan<int>>, int&&>);

using ChanRange = procs_test;
WEFT_SWEEP(ChanRange);

// A closed channel with the values 0 … n - 1.
chan<int> numbers(int n) {
    chan<int> c(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) c.send(i);
    c.close();
    return c;
}

TEST_P(ChanRange, ALoopReceivesUntilTheChannelIsClosedAndDrained) {
    rt().run([] {
        chan<int> c;
        go([c] {
            for (int i = 1; i <= 100; ++i) c.send(i);
            c.close();
        });
        int sum = 0;
        for (const int n : c) sum += n;
        EXPECT_EQ(sum, 5050);
    });
}

TEST_P(ChanRange, ALoopOverAClosedEmptyChannelDoesNotRun) {
    rt().run([] {
        for (const int n : numbers(0)) ADD_FAILURE() << n;
    });
}

TEST_P(ChanRange, ElementsThatOnlyMoveAreMovedOut) {
    rt().run([] {
        chan<std::unique_ptr<int>> c(2);
        c.send(std::make_unique<int>(1));
        c.send(std::make_unique<int>(2));
        c.close();
        std::vector<std::unique_ptr<int>> all;
        for (std::unique_ptr<int>&& p : c) all.push_back(std::move(p));
        ASSERT_EQ(all.size(), 2U);
        EXPECT_EQ(*all[1], 2);
    });
}

TEST_P(ChanRange, ViewsFilterAndTransformWhatIsReceived) {
    rt().run([] {
        const chan<int> c = numbers(10);
        std::vector<int> got;
        for (const int n : c | std::views::filter([](int i) { return i % 2 == 1; }) |
                               std::views::transform([](int i) { return i * i; })) {
            got.push_back(n);
        }
        EXPECT_EQ(got, (std::vector{1, 9, 25, 49, 81}));
    });
}

TEST_P(ChanRange, TakeReceivesNoMoreThanItTakes) {
    rt().run([] {
        chan<int> c = numbers(10);
        std::vector<int> got;
        for (const int n : c | std::views::take(3)) got.push_back(n);
        EXPECT_EQ(got, (std::vector{0, 1, 2}));
        EXPECT_EQ(c.size(), 7U);
        EXPECT_EQ(c.recv(), 3);
    });
}

// A loop that is left has received only what it has looked at.
TEST_P(ChanRange, ALoopThatBreaksLeavesTheRest) {
    rt().run([] {
        chan<int> c = numbers(5);
        for (const int n : c) {
            if (n == 1) break;
        }
        EXPECT_EQ(c.recv(), 2);
    });
}

TEST_P(ChanRange, AnIncrementWithoutALookSkipsOneElement) {
    rt().run([] {
        const chan<int> c = numbers(3);
        auto it = c.begin();
        ++it;
        EXPECT_EQ(*it, 1);
        it++;
        EXPECT_FALSE(it == c.end());
        EXPECT_EQ(*it, 2);
        ++it;
        EXPECT_TRUE(it == c.end());
        EXPECT_TRUE(it == std::default_sentinel);  // and stays at the end
    });
}

TEST_P(ChanRange, AlgorithmsWithASentinelTakeAChannel) {
    rt().run([] {
        EXPECT_EQ(std::ranges::count_if(numbers(10), [](int n) { return n > 6; }), 3);
        std::vector<int> copied;
        std::ranges::copy(numbers(4), std::back_inserter(copied));
        EXPECT_EQ(copied, (std::vector{0, 1, 2, 3}));
        std::vector<int> common;
        for (const int n : recv_chan<int>(numbers(3)) | std::views::drop(1)) common.push_back(n);
        EXPECT_EQ(common, (std::vector{1, 2}));
    });
}

// A channel's values need not be assignable.
TEST_P(ChanRange, LoopsOverValuesThatCannotBeAssigned) {
    struct fixed {
        const int n;
    };

    rt().run([] {
        chan<fixed> c(2);
        c.send(fixed{3});
        c.send(fixed{4});
        c.close();
        int sum = 0;
        for (const fixed& f : c) sum += f.n;
        EXPECT_EQ(sum, 7);
        EXPECT_TRUE(c.begin() == c.end());
    });
}

TEST_P(ChanRange, BeginDoesNotWait) {
    rt().run([] {
        chan<int> c;
        auto it = c.begin();  // nothing is there yet
        go([c] { c.send(42); });
        EXPECT_EQ(*it, 42);
    });
}

TEST_P(ChanRange, AWaitInALoopIsACancellationPoint) {
    rt().run([] {
        chan<int> c;
        EXPECT_THROW(with_timeout(std::chrono::milliseconds(5),
                                  [&] {
                                      for (const int n : c) ADD_FAILURE() << n;
                                  }),
                     timed_out);
    });
}

TEST_P(ChanRange, SizeAndCapacityAreLenAndCap) {
    rt().run([] {
        chan<int> c(3);
        c.send(1);
        EXPECT_EQ(c.size(), 1U);
        EXPECT_EQ(c.len(), 1U);
        EXPECT_EQ(c.capacity(), 3U);
        EXPECT_EQ(c.cap(), 3U);
        EXPECT_EQ(send_chan<int>(c).size(), 1U);
        EXPECT_EQ(recv_chan<int>(c).capacity(), 3U);
        EXPECT_EQ(chan<int>::nil().size(), 0U);
        EXPECT_EQ(chan<int>::nil().capacity(), 0U);
    });
}

using ChanStatus = procs_test;
WEFT_SWEEP(ChanStatus);

static_assert(!std::is_convertible_v<chan_status, bool>);  // bool sent = c.try_send(v) would be a trap
static_assert(!std::is_convertible_v<chan_status, int>);

TEST(ChanStatusValue, IsTrueOnlyIfOk) {
    EXPECT_TRUE(chan_status(chan_status::ok));
    EXPECT_FALSE(chan_status(chan_status::would_block));
    EXPECT_FALSE(chan_status(chan_status::timed_out));
    EXPECT_FALSE(chan_status(chan_status::closed));
    EXPECT_EQ(chan_status(chan_status::closed), chan_status::closed);
    EXPECT_NE(chan_status(chan_status::closed), chan_status::ok);
}

TEST(ChanStatusValue, ComparesWithItsCodes) {
    const chan_status s = chan_status::closed;
    EXPECT_TRUE(s == chan_status::code::closed);
    EXPECT_TRUE(chan_status::code::ok != s);
    EXPECT_EQ(s.operator bool() ? chan_status::ok : s, chan_status::closed);
}

TEST(ChanStatusValue, WorksInASwitch) {
    const auto name = [](chan_status s) {
        switch (s) {
            case chan_status::ok:
                return 'o';
            case chan_status::would_block:
                return 'w';
            case chan_status::timed_out:
                return 't';
            case chan_status::closed:
                return 'c';
        }
        return '?';
    };
    EXPECT_EQ(name(chan_status::timed_out), 't');
    EXPECT_EQ(name(chan<int>(0).try_recv().status), 'w');
}

TEST_P(ChanStatus, LvaluesAreCopiedByEveryFormOfSend) {
    using namespace std::chrono_literals;
    rt().run([] {
        const std::string text = "a text that does not fit into the small buffer of a string";
        chan<std::string> c(8);
        const send_chan<std::string> s = c;
        std::error_code ec;
        c.send(text);
        c.send(text, ec);
        EXPECT_TRUE(c.try_send(text));
        EXPECT_TRUE(c.send_for(text, 1s));
        EXPECT_TRUE(s.send_until(text, std::chrono::steady_clock::now() + 1s));
        s.send(text, ec);
        EXPECT_TRUE(s.try_send(text));
        EXPECT_TRUE(s.send_for(text, 1s));
        EXPECT_EQ(c.send_for(text, 1us), chan_status::timed_out);
        EXPECT_EQ(c.try_send(text), chan_status::would_block);
        EXPECT_EQ(c.size(), 8U);
        c.close();
        for (const std::string& got : c) EXPECT_EQ(got, text);
        EXPECT_EQ(text.size(), 58U);
    });
}

TEST_P(ChanStatus, AnRvalueThatCouldNotBeSentIsUnchanged) {
    rt().run([] {
        chan<std::unique_ptr<int>> c(1);
        EXPECT_TRUE(c.try_send(std::make_unique<int>(1)));
        auto second = std::make_unique<int>(2);
        EXPECT_FALSE(c.try_send(std::move(second)));
        ASSERT_NE(second, nullptr);  // NOLINT(bugprone-use-after-move): this is what is tested
        EXPECT_EQ(*second, 2);
    });
}

}  // namespace
}  // namespace weft::test
