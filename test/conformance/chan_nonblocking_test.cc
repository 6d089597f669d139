// chan_nonblocking_test.cc: what every operation returns in every state of a channel when it may
// not wait, or only briefly.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/closed_now.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using ChanNonblocking = procs_test;
WEFT_SWEEP(ChanNonblocking);

// A channel in one state, and the results of a send and a receive that do not wait.
struct state {
    const char* name;
    std::function<chan<int>()> make;
    chan_status send;
    chan_status receive;
};

chan<int> filled(std::size_t cap, int values) {
    chan<int> c(cap);
    for (int i = 0; i < values; ++i) c.send(i);
    return c;
}

const std::vector<state>& quiet_states() {
    static const std::vector<state> all = {
        {"nil", [] { return chan<int>::nil(); }, chan_status::would_block, chan_status::would_block},
        {"unbuffered", [] { return chan<int>(); }, chan_status::would_block, chan_status::would_block},
        {"empty", [] { return chan<int>(2); }, chan_status::ok, chan_status::would_block},
        {"half full", [] { return filled(2, 1); }, chan_status::ok, chan_status::ok},
        {"full", [] { return filled(2, 2); }, chan_status::would_block, chan_status::ok},
        {"closed unbuffered", [] { return closed_now(chan<int>()); }, chan_status::closed, chan_status::closed},
        {"closed empty", [] { return closed_now(chan<int>(2)); }, chan_status::closed, chan_status::closed},
        {"closed half full", [] { return closed_now(filled(2, 1)); }, chan_status::closed, chan_status::ok},
        {"closed full", [] { return closed_now(filled(2, 2)); }, chan_status::closed, chan_status::ok},
    };
    return all;
}

// The result of the timed form where the try_ form would block.
chan_status or_timeout(chan_status s) { return s == chan_status::would_block ? chan_status::timed_out : s; }

TEST_P(ChanNonblocking, TryAnswersAtOnceInEveryState) {
    rt().run([] {
        for (const state& s : quiet_states()) {
            EXPECT_EQ(s.make().try_send(7), s.send) << s.name;
            const recv_result<int> got = s.make().try_recv();
            EXPECT_EQ(got.status, s.receive) << s.name;
            EXPECT_EQ(got.value.has_value(), s.receive == chan_status::ok) << s.name;
            EXPECT_EQ(static_cast<bool>(got), s.receive == chan_status::ok) << s.name;
        }
    });
}

TEST_P(ChanNonblocking, BoundedWaitsDistinguishTimeoutFromClosed) {
    rt().run([] {
        for (const state& s : quiet_states()) {
            EXPECT_EQ(s.make().send_for(7, 1ms), or_timeout(s.send)) << s.name;
            EXPECT_EQ(s.make().recv_for(1ms).status, or_timeout(s.receive)) << s.name;
            EXPECT_EQ(s.make().send_until(7, steady_clock::now() + 1ms), or_timeout(s.send)) << s.name;
            EXPECT_EQ(s.make().recv_until(steady_clock::now() + 1ms).status, or_timeout(s.receive)) << s.name;
        }
    });
}

// A wait whose deadline has already passed does what it can at once; otherwise it reports a
// timeout.
TEST_P(ChanNonblocking, ADeadlineInThePastStillTakesAvailableValues) {
    rt().run([] {
        const auto past = steady_clock::now() - 1h;
        for (const state& s : quiet_states()) {
            EXPECT_EQ(s.make().send_until(7, past), or_timeout(s.send)) << s.name;
            EXPECT_EQ(s.make().recv_until(past).status, or_timeout(s.receive)) << s.name;
            for (const auto none : {0ms, -5ms}) {
                EXPECT_EQ(s.make().send_for(7, none), or_timeout(s.send)) << s.name;
                EXPECT_EQ(s.make().recv_for(none).status, or_timeout(s.receive)) << s.name;
            }
        }
    });
}

TEST_P(ChanNonblocking, TryReceiveTakesTheValueOfAWaitingSender) {
    for (const std::size_t cap : {0U, 1U, 2U}) {
        const chan<int> c = filled(cap, static_cast<int>(cap));
        park(1, [&] { rt().go([c] { c.send(100); }); });
        for (int i = 0; i < static_cast<int>(cap); ++i) EXPECT_EQ(c.try_recv().value, i);
        EXPECT_EQ(c.try_recv().value, 100);
        EXPECT_EQ(c.try_recv().status, chan_status::would_block);
    }
}

TEST_P(ChanNonblocking, TrySendReachesAWaitingReceiver) {
    for (const std::size_t cap : {0U, 1U, 2U}) {
        const chan<int> c(cap);
        int got = 0;
        park(1, [&] { rt().go([&got, c] { got = c.recv().value_or(-1); }); });
        EXPECT_EQ(c.try_send(5), chan_status::ok);
        EXPECT_EQ(c.len(), 0U);  // handed over, not buffered
        rt().drain();
        EXPECT_EQ(got, 5);
    }
}

TEST_P(ChanNonblocking, TrySendToAFullChannelFailsBesideAWaitingSender) {
    const chan<int> c = filled(1, 1);
    park(1, [&] { rt().go([c] { c.send(1); }); });
    EXPECT_EQ(c.try_send(2), chan_status::would_block);
    EXPECT_EQ(c.recv(), 0);
    EXPECT_EQ(c.recv(), 1);
}

TEST_P(ChanNonblocking, AFailedSendLeavesTheValueAlone) {
    rt().run([] {
        using box = std::unique_ptr<int>;
        const auto holds_one = [](const box& b) { return b != nullptr && *b == 1; };
        box value = std::make_unique<int>(1);

        for (const chan<box>& blocked : {chan<box>(), chan<box>::nil()}) {
            EXPECT_EQ(blocked.try_send(std::move(value)), chan_status::would_block);
            EXPECT_TRUE(holds_one(value));
            EXPECT_EQ(blocked.send_for(std::move(value), 1ms), chan_status::timed_out);
            EXPECT_TRUE(holds_one(value));
            EXPECT_EQ(blocked.send_until(std::move(value), steady_clock::now() - 1s), chan_status::timed_out);
            EXPECT_TRUE(holds_one(value));
        }

        const chan<box> shut(4);
        shut.close();
        EXPECT_EQ(shut.try_send(std::move(value)), chan_status::closed);
        EXPECT_TRUE(holds_one(value));
        EXPECT_EQ(shut.send_for(std::move(value), 1h), chan_status::closed);
        EXPECT_TRUE(holds_one(value));
        EXPECT_THROW(shut.send(std::move(value)), channel_closed);
        EXPECT_TRUE(holds_one(value));

        const chan<box> open(1);
        EXPECT_EQ(open.try_send(std::move(value)), chan_status::ok);
        EXPECT_EQ(value, nullptr);  // moved from only now
    });
}

// One value, then a close, while another thread tries to receive. It gets the value or `closed`,
// never `would_block`.
TEST_P(ChanNonblocking, TryReceiveRacingWithCloseNeverReportsWouldBlock) {
    const int rounds = scaled(5000);
    const int wrong = rt().run([rounds] {
        std::atomic<int> mistakes = 0;
        for (int i = 0; i < rounds; ++i) {
            const chan<int> c(1);
            c.send(1);
            wait_group racing;
            std::atomic<int> received = 0;
            racing.go([&, c] {
                const recv_result<int> got = c.try_recv();
                mistakes += got.status == chan_status::would_block;
                received += got.value.has_value();
            });
            c.close();
            received += c.recv().has_value();
            racing.wait();
            mistakes += received != 1;
        }
        return mistakes.load();
    });
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::test
