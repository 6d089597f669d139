// chan_order_test.cc: values leave a channel in the order in which they entered, each exactly once.

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using ChanOrder = procs_test;
WEFT_SWEEP(ChanOrder);

constexpr int largest_capacity = 200;

TEST_P(ChanOrder, ValuesLeaveInTheOrderTheyEnteredAtEveryCapacity) {
    const int out_of_order = rt().run([] {
        int wrong = 0;
        for (std::size_t cap = 0; cap <= largest_capacity; ++cap) {
            const chan<int> c(cap);
            constexpr int messages = 100;
            go([c] {
                for (int i = 0; i < messages; ++i) c.send(i);
                c.close();
            });
            int expected = 0;
            for (const int v : c) wrong += v != expected++;
            wrong += expected != messages;
        }
        return wrong;
    });
    EXPECT_EQ(out_of_order, 0);
}

TEST_P(ChanOrder, LenAndCapAreExactAtEveryCapacity) {
    const int wrong = rt().run([] {
        int mistakes = 0;
        for (std::size_t cap = 0; cap <= largest_capacity; ++cap) {
            const chan<std::size_t> c(cap);
            mistakes += c.cap() != cap || c.len() != 0;
            std::size_t sent = 0;
            for (std::size_t v = 0; c.try_send(std::size_t{v}) == chan_status::ok; ++v) mistakes += c.len() != ++sent;
            mistakes += sent != cap;
            for (std::size_t i = 0; i < cap; ++i) mistakes += c.try_recv().value != i || c.len() != cap - i - 1;
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(ChanOrder, ABufferThatWrapsAroundKeepsItsOrder) {
    const chan<int> c(5);
    int sent = 0;
    int received = 0;
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 3 + round % 3; ++i) ASSERT_EQ(c.try_send(sent++), chan_status::ok);
        while (c.len() > 0) ASSERT_EQ(c.try_recv().value, received++);
    }
    EXPECT_EQ(sent, received);
}

TEST_P(ChanOrder, WaitingSendersAreServedInTheOrderTheyCame) {
    constexpr int senders = 20;
    const chan<int> c;
    for (int i = 0; i < senders; ++i) {
        park(1, [&] { rt().go([c, i] { c.send(i); }); });
    }
    for (int i = 0; i < senders; ++i) EXPECT_EQ(c.recv(), i);
}

TEST_P(ChanOrder, WaitingReceiversAreServedInTheOrderTheyCame) {
    constexpr int receivers = 20;
    const chan<int> c;
    std::vector<int> got(receivers, -1);
    for (int i = 0; i < receivers; ++i) {
        park(1, [&] { rt().go([&got, c, i] { got[static_cast<std::size_t>(i)] = c.recv().value_or(-2); }); });
    }
    for (int i = 0; i < receivers; ++i) c.send(i);
    rt().drain();
    for (int i = 0; i < receivers; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);
}

// A receive from a full channel takes the oldest value, which is buffered, although a sender waits
// with another.
TEST_P(ChanOrder, BufferedValuesPrecedeThoseOfWaitingSenders) {
    const chan<int> c(3);
    for (int i = 0; i < 3; ++i) c.send(i);
    for (int i = 3; i < 8; ++i) {
        park(1, [&] { rt().go([c, i] { c.send(i); }); });
    }
    for (int i = 0; i < 8; ++i) EXPECT_EQ(c.recv(), i);
    EXPECT_EQ(c.len(), 0U);
}

// Each green thread waits for its turn, takes one value from the shared channel, and passes the
// turn on.
TEST_P(ChanOrder, AChainOfReceiversSeesTheValuesInOrder) {
    const int links = scaled(1000);
    const int out_of_order = rt().run([links] {
        const chan<int> values;
        const chan<bool> start;
        std::atomic<int> wrong = 0;
        chan<bool> turn = start;
        for (int i = 0; i < links; ++i) {
            const chan<bool> next;
            go([values, turn, next, i, &wrong] {
                turn.recv();
                wrong += values.recv() != i;
                next.send(true);
            });
            turn = next;
        }
        start.send(true);
        for (int i = 0; i < links; ++i) values.send(i);
        turn.recv();
        return wrong.load();
    });
    EXPECT_EQ(out_of_order, 0);
}

// Messages from many senders to many receivers: each arrives exactly once. Each receiver sees the
// messages of any one sender in order.
TEST_P(ChanOrder, EveryMessageArrivesExactlyOnce) {
    constexpr int senders = 4;
    constexpr int receivers = 4;
    const int each = scaled(2000);
    for (const std::size_t cap : {0U, 1U, 2U, 10U, 100U}) {
        tally seen(static_cast<std::size_t>(senders * each));
        std::atomic<int> overtakings = 0;
        rt().run([&] {
            const chan<int> c(cap);
            wait_group receiving;
            for (int r = 0; r < receivers; ++r) {
                receiving.go([&, c] {
                    std::vector<int> last(senders, -1);
                    for (const int message : c) {
                        seen.mark(static_cast<std::size_t>(message));
                        int& previous = last[static_cast<std::size_t>(message / each)];
                        overtakings += message <= previous;
                        previous = message;
                    }
                });
            }
            wait_group sending;
            for (int s = 0; s < senders; ++s) {
                sending.go([c, s, each] {
                    for (int i = 0; i < each; ++i) c.send(s * each + i);
                });
            }
            sending.wait();
            c.close();
            receiving.wait();
        });
        EXPECT_TRUE(seen.exactly_once()) << "capacity " << cap;
        EXPECT_EQ(overtakings, 0) << "capacity " << cap;
    }
}

// Plain data is passed by address. The receiver sees all writes made before the send. So does the
// thread that gets it back.
TEST_P(ChanOrder, ASendSynchronizesWithItsReceive) {
    struct page {
        long writes = 0;
        char text[200] = {};
    };

    const int rounds = scaled(20'000);
    constexpr int parties = 4;
    for (const std::size_t cap : {0U, 2U}) {
        std::vector<page> pages(3);
        rt().run([&] {
            const chan<page*> free(cap + pages.size());
            for (page& p : pages) free.send(&p);
            const chan<page*> handed_on(cap);
            wait_group all;
            for (int i = 0; i < parties; ++i) {
                all.go([=] {
                    for (int r = 0; r < rounds / parties; ++r) {
                        page* const p = free.recv().value_or(nullptr);
                        p->text[p->writes++ % 200] = 'w';
                        handed_on.send(p);
                    }
                });
                all.go([=] {
                    for (int r = 0; r < rounds / parties; ++r) {
                        page* const p = handed_on.recv().value_or(nullptr);
                        p->text[p->writes++ % 200] = 'r';
                        free.send(p);
                    }
                });
            }
            all.wait();
        });
        long writes = 0;
        for (const page& p : pages) writes += p.writes;
        EXPECT_EQ(writes, 2L * parties * (rounds / parties)) << "capacity " << cap;
    }
}

TEST_P(ChanOrder, APipelineOfManyConsumersKeepsTheSum) {
    const std::vector<int> numbers = {2, 3, 7, 11, 13, 17, 19, 23, 27, 31};
    const int items = scaled(50'000);
    constexpr std::size_t workers = 23;
    long sent = 0;
    long received = 0;
    rt().run([&] {
        const chan<int> work(workers * 3);
        const chan<int> results(workers * 3);
        wait_group working;
        for (std::size_t w = 0; w < workers; ++w) {
            working.go([&, w] {
                for (const int v : work) {
                    if (numbers[w % numbers.size()] == v) weft::yield();  // breaks the lockstep now and then
                    results.send(v);
                }
            });
        }
        go([&] {
            for (int i = 0; i < items; ++i) {
                const int v = numbers[static_cast<std::size_t>(i) % numbers.size()];
                sent += v;
                work.send(v);
            }
            work.close();
            working.wait();
            results.close();
        });
        for (const int v : results) received += v;
    });
    EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace weft::test
