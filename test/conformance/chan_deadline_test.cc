// chan_deadline_test.cc: channel operations with a deadline.

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using ChanDeadline = procs_test;
WEFT_SWEEP(ChanDeadline);

TEST_P(ChanDeadline, ATimeoutIsNeverEarly) {
    const int early = rt().run([] {
        const chan<int> c;
        const chan<int> nil = chan<int>::nil();
        int wrong = 0;
        for (const auto limit : {1us, 50us, 1000us, 7000us}) {
            for (const chan<int>& waited_on : {c, nil}) {
                auto start = steady_clock::now();
                wrong +=
                    waited_on.recv_for(limit).status != chan_status::timed_out || steady_clock::now() - start < limit;
                start = steady_clock::now();
                wrong += waited_on.send_for(1, limit) != chan_status::timed_out || steady_clock::now() - start < limit;
                start = steady_clock::now();
                wrong += waited_on.recv_until(start + limit).status != chan_status::timed_out ||
                         steady_clock::now() < start + limit;
            }
        }
        return wrong;
    });
    EXPECT_EQ(early, 0);
}

TEST_P(ChanDeadline, ATimedOutWaiterIsNotServed) {
    rt().run([] {
        const chan<int> c;
        EXPECT_EQ(c.recv_for(1ms).status, chan_status::timed_out);
        EXPECT_EQ(c.try_send(1), chan_status::would_block);
        EXPECT_EQ(c.send_for(1, 1ms), chan_status::timed_out);
        EXPECT_EQ(c.try_recv().status, chan_status::would_block);
    });
}

TEST_P(ChanDeadline, ATimedOutWaiterKeepsTheQueueIntact) {
    const chan<int> c;
    std::atomic<int> patient = 0;
    std::atomic<int> expired = 0;
    park(30, [&] {
        for (int i = 0; i < 30; ++i) {
            rt().go([&, c, i] {
                if (i % 3 == 1) {  // at the front, in the middle, at the end
                    expired += c.recv_for(2ms).status == chan_status::timed_out;
                } else {
                    patient += c.recv().value_or(0);
                }
            });
        }
    });
    rt().run([&] {
        while (expired < 10) sleep_for(500us);
        for (int i = 0; i < 20; ++i) c.send(1);
    });
    rt().drain();
    EXPECT_EQ(patient, 20);
    EXPECT_EQ(expired, 10);
}

TEST_P(ChanDeadline, AValueThatComesInTimeEndsTheWait) {
    rt().run([] {
        const chan<int> c;
        const chan<int> buffered(1);
        go([c] { c.send(1); });
        EXPECT_EQ(c.recv_for(1h).value, 1);
        go([c] { EXPECT_EQ(c.recv(), 2); });
        EXPECT_EQ(c.send_for(2, 1h), chan_status::ok);
        buffered.send(3);
        go([buffered] { EXPECT_EQ(buffered.recv(), 3); });
        EXPECT_EQ(buffered.send_for(4, 1h), chan_status::ok);
    });
}

TEST_P(ChanDeadline, TimesBeyondTheClockMeanForEver) {
    using std::chrono::duration;
    using std::chrono::hours;
    using std::chrono::nanoseconds;
    rt().run([] {
        const chan<int> c;
        const auto answers = [&c](auto receive) {
            go([c] {
                weft::yield();
                c.send(1);
            });
            return receive() == 1;
        };
        EXPECT_TRUE(answers([&] { return c.recv_for(hours::max()).value; }));
        EXPECT_TRUE(answers([&] { return c.recv_for(nanoseconds::max()).value; }));
        EXPECT_TRUE(answers([&] { return c.recv_for(duration<double>(1e300)).value; }));
        EXPECT_TRUE(
            answers([&] { return c.recv_for(duration<double>(std::numeric_limits<double>::infinity())).value; }));
        EXPECT_TRUE(answers([&] { return c.recv_until(steady_clock::time_point::max()).value; }));
        EXPECT_TRUE(answers([&] { return c.recv_until(std::chrono::system_clock::time_point::max()).value; }));
    });
}

TEST_P(ChanDeadline, TimesBelowTheClockCountAsPast) {
    using std::chrono::duration;
    rt().run([] {
        const chan<int> c;
        EXPECT_EQ(c.recv_for(std::chrono::hours::min()).status, chan_status::timed_out);
        EXPECT_EQ(c.recv_for(duration<double>(-1e300)).status, chan_status::timed_out);
        EXPECT_EQ(c.recv_until(steady_clock::time_point::min()).status, chan_status::timed_out);
        EXPECT_EQ(c.recv_until(steady_clock::time_point{}).status, chan_status::timed_out);
        EXPECT_EQ(c.recv_until(std::chrono::system_clock::time_point::min()).status, chan_status::timed_out);
    });
}

// Both sides time out after a few microseconds, so many hand-offs coincide with a deadline. Both
// must agree: the send returns ok if and only if one receiver got the value.
TEST_P(ChanDeadline, DeadlinesRacingWithHandOffsLoseNothing) {
    constexpr int parties = 8;
    const int each = scaled(3000);
    for (const std::size_t cap : {0U, 1U, 4U}) {
        tally sent(static_cast<std::size_t>(parties * each));
        tally received(sent.size());
        rt().run([&] {
            const chan<int> c(cap);
            wait_group senders;
            wait_group receivers;
            std::atomic<bool> over = false;
            for (int p = 0; p < parties; ++p) {
                senders.go([&, c, p] {
                    prng random(static_cast<uint64_t>(p));
                    for (int i = p * each; i < (p + 1) * each; ++i) {
                        const auto limit = std::chrono::microseconds(random.below(30));
                        if (c.send_for(int{i}, limit) == chan_status::ok) sent.mark(static_cast<std::size_t>(i));
                    }
                });
                receivers.go([&, c, p] {
                    prng random(static_cast<uint64_t>(1000 + p));
                    while (!over) {
                        const auto got = c.recv_for(std::chrono::microseconds(random.below(30)));
                        if (got.status == chan_status::ok)
                            received.mark(static_cast<std::size_t>(got.value.value_or(-1)));
                    }
                });
            }
            senders.wait();
            over = true;
            receivers.wait();
            while (const auto left = c.try_recv()) received.mark(static_cast<std::size_t>(left.value.value_or(-1)));
        });
        EXPECT_TRUE(received.same_as(sent)) << "capacity " << cap;
    }
}

TEST_P(ChanDeadline, DeadlinesOfPlainThreadsLoseNothing) {
    const int each = scaled(2000);
    tally sent(static_cast<std::size_t>(2 * each));
    tally received(sent.size());
    const chan<int> c;
    std::atomic<bool> over = false;
    const auto send_all = [&, c](int from) {
        prng random(static_cast<uint64_t>(from));
        for (int i = from; i < from + each; ++i) {
            const auto limit = std::chrono::microseconds(random.below(100));
            if (c.send_for(int{i}, limit) == chan_status::ok) sent.mark(static_cast<std::size_t>(i));
        }
    };
    const auto receive_all = [&, c](uint64_t seed) {
        prng random(seed);
        while (!over) {
            const auto got = c.recv_for(std::chrono::microseconds(random.below(100)));
            if (got.status == chan_status::ok) received.mark(static_cast<std::size_t>(got.value.value_or(-1)));
        }
    };
    std::thread sender([&] { send_all(0); });
    std::thread receiver([&] { receive_all(7); });
    rt().go([&] { receive_all(8); });
    rt().run([&] { send_all(each); });
    sender.join();
    over = true;
    receiver.join();
    rt().drain();
    EXPECT_TRUE(received.same_as(sent));
}

}  // namespace
}  // namespace weft::test
