// chan_close_test.cc: closing a channel: which waiters are woken, with which result, and that no
// sent value is lost.

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tally.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using ChanClose = procs_test;
WEFT_SWEEP(ChanClose);

TEST_P(ChanClose, ClosedChannelDrainsThenReportsClosed) {
    rt().run([] {
        const chan<int> c(3);
        for (int i = 0; i < 3; ++i) c.send(i);
        EXPECT_FALSE(c.closed());
        c.close();
        EXPECT_TRUE(c.closed());
        for (int i = 0; i < 3; ++i) EXPECT_EQ(c.recv(), i);
        for (int again = 0; again < 3; ++again) {
            EXPECT_EQ(c.recv(), std::nullopt);
            EXPECT_EQ(c.try_recv().status, chan_status::closed);
            EXPECT_EQ(c.recv_for(1h).status, chan_status::closed);
        }
    });
}

TEST_P(ChanClose, SendOnAClosedChannelThrows) {
    rt().run([] {
        const chan<int> c(1);
        c.close();
        EXPECT_THROW(c.send(1), channel_closed);
        EXPECT_EQ(c.len(), 0U);
    });
}

TEST_P(ChanClose, CloseWakesEveryReceiver) {
    constexpr int receivers = 100;
    const chan<int> c;
    std::atomic<int> told_closed = 0;
    park(receivers, [&] {
        for (int i = 0; i < receivers; ++i) {
            rt().go([&, c, i] {
                told_closed += i % 2 == 0 ? !c.recv().has_value() : c.recv_for(1h).status == chan_status::closed;
            });
        }
    });
    EXPECT_EQ(told_closed, 0);
    c.close();
    rt().drain();
    EXPECT_EQ(told_closed, receivers);
}

TEST_P(ChanClose, CloseWakesEverySenderAndKeepsItsValue) {
    constexpr int senders = 100;
    const long before = tracked::alive();
    const chan<tracked> c(1);
    c.send(tracked(-2));
    std::atomic<int> untouched = 0;
    park(senders, [&] {
        for (int i = 0; i < senders; ++i) {
            rt().go([&, c, i] {
                tracked mine(i);
                bool told_closed = false;
                if (i % 2 == 0) {
                    try {
                        c.send(std::move(mine));
                    } catch (const channel_closed&) {
                        told_closed = true;
                    }
                } else {
                    told_closed = c.send_for(std::move(mine), 1h) == chan_status::closed;
                }
                untouched += told_closed && mine.value == i;
            });
        }
    });
    c.close();
    rt().drain();
    EXPECT_EQ(untouched, senders);
    EXPECT_EQ(c.recv()->value, -2);  // buffered values are still delivered
    EXPECT_FALSE(c.recv().has_value());
    EXPECT_EQ(tracked::alive(), before);
}

TEST_P(ChanClose, CloseWakesPlainThreads) {
    const chan<int> c;
    std::atomic<int> waiting = 0;
    std::atomic<int> told_closed = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, c] {
            ++waiting;
            told_closed += !c.recv().has_value();
        });
    }
    for (int i = 0; i < 4; ++i) {
        rt().go([&, c] {
            ++waiting;
            told_closed += !c.recv().has_value();
        });
    }
    rt().run([&] { c.close(); });  // before, while or after they wait
    for (std::thread& t : threads) t.join();
    rt().drain();
    EXPECT_EQ(waiting, 8);
    EXPECT_EQ(told_closed, 8);
}

TEST_P(ChanClose, ForLoopEndsWhenTheChannelIsClosedAndDrained) {
    const int sum = rt().run([] {
        const chan<int> c(4);
        go([c] {
            for (int i = 1; i <= 100; ++i) c.send(i);
            c.close();
        });
        int total = 0;
        for (const int v : c) total += v;
        for (const int v : c) total += v * 1'000'000;  // closed and drained: the loop is not entered
        return total;
    });
    EXPECT_EQ(sum, 5050);
}

TEST_P(ChanClose, EveryHandleSeesTheClose) {
    const chan<int> c;
    const chan<int> copy = c;
    const send_chan<int> in = c;
    const recv_chan<int> out = c;
    in.close();
    EXPECT_TRUE(c.closed() && copy.closed() && in.closed() && out.closed());
    EXPECT_FALSE(out.recv().has_value());
}

// Senders run until they learn that the channel is closed. Each value whose send succeeded is
// received once.
TEST_P(ChanClose, CloseRacingWithSendersLosesNothing) {
    constexpr int senders = 8;
    const int rounds = scaled(100);
    constexpr int most = 2000;
    for (const std::size_t cap : {0U, 1U, 16U}) {
        for (int round = 0; round < rounds; ++round) {
            tally sent(senders * most);
            tally received(senders * most);
            rt().run([&, round] {
                const chan<int> c(cap);
                wait_group all;
                for (int s = 0; s < senders; ++s) {
                    all.go([&, c, s] {
                        try {
                            for (int i = s * most; i < (s + 1) * most; ++i) {
                                c.send(i);
                                sent.mark(static_cast<std::size_t>(i));
                            }
                        } catch (const channel_closed&) {}
                    });
                }
                for (int r = 0; r < 3; ++r) {
                    all.go([&, c] {
                        for (const int v : c) received.mark(static_cast<std::size_t>(v));
                    });
                }
                for (int i = 0; i < round % 20; ++i) weft::yield();
                c.close();
                all.wait();
            });
            ASSERT_TRUE(received.same_as(sent)) << "capacity " << cap << ", round " << round;
        }
    }
}

}  // namespace
}  // namespace weft::test
