// cancel_race_test.cc: cancellations at the moment of a hand-off. A value handed off has been
// received, any other is still with its sender, and no waiter stays in a queue.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Values are boxed numbers, so a lost or doubled one is also a leak or a double free.
using count_box = std::unique_ptr<std::size_t>;

// State shared by senders and receivers that are cancelled all the time.
struct market {
    explicit market(std::size_t messages, std::size_t cap) : a(cap), b(0), sent(messages), received(messages) {}

    const chan<count_box> a;
    const chan<count_box> b;
    tally sent;      // Messages whose send returned.
    tally received;  // Messages that were received.
    std::atomic<int> mistakes{0};

    void take(std::optional<count_box> v) {
        if (v) received.mark(**v);
    }

    // Sends v once, in some form. Returns whether that happened; may throw cancelled or timed_out.
    bool send(prng& random, count_box& v) {
        switch (random.below(5)) {
            case 0:
                a.send(std::move(v));
                return true;
            case 1:
                return a.send_for(std::move(v), std::chrono::microseconds(random.below(100))) == chan_status::ok;
            case 2:
                return select(weft::send_case(a, std::move(v)), weft::send_case(b, std::move(v))).index() < 2;
            case 3:
                return select(weft::send_case(b, std::move(v)),
                              timeout_case(std::chrono::microseconds(random.below(50))))
                           .index() == 0;
            default: {
                std::error_code ec;
                a.send(std::move(v), ec);
                return !ec;
            }
        }
    }

    void receive(prng& random) {
        const auto take_it = [this](std::optional<count_box> v) { take(std::move(v)); };
        switch (random.below(5)) {
            case 0:
                return take(a.recv());
            case 1:
                return take(a.recv_for(std::chrono::microseconds(random.below(100))).value);
            case 2:
                select(on_recv(a, take_it), on_recv(b, take_it));
                return;
            case 3:
                select(on_recv(b, take_it), on_timeout(std::chrono::microseconds(random.below(50)), [] {}),
                       on_recv(a, take_it), on_cancel([] {}));
                return;
            default: {
                std::error_code ec;
                return take(a.recv(ec));
            }
        }
    }

    // Sends message `number`. If the send is interrupted, the value is unchanged.
    void send_one(prng& random, std::size_t number) {
        count_box v = std::make_unique<std::size_t>(number);
        bool done = false;
        try {
            done = send(random, v);
        } catch (const cancelled&) {
        } catch (const timed_out&) {}
        if (done) sent.mark(number);
        mistakes += done ? v != nullptr : v == nullptr || *v != number;
    }

    void receive_one(prng& random) {
        try {
            receive(random);
        } catch (const cancelled&) {
        } catch (const timed_out&) {}
    }

    void expect_balance() {
        while (auto left = a.try_recv()) take(std::move(left.value));
        EXPECT_EQ(b.try_recv().status, chan_status::would_block);
        EXPECT_EQ(b.try_send(nullptr), chan_status::would_block);
        EXPECT_EQ(a.len(), 0U);
        EXPECT_TRUE(received.same_as(sent));
        EXPECT_EQ(mistakes, 0);
    }
};

using CancelRace = procs_test;
WEFT_SWEEP(CancelRace);

// Each operation has a deadline of its own.
TEST_P(CancelRace, DeadlinesAroundOperationsLoseNoValue) {
    constexpr std::size_t parties = 8;
    const auto each = static_cast<std::size_t>(scaled(1500));
    for (const std::size_t cap : {0U, 2U}) {
        market m(parties * each, cap);
        rt().run([&] {
            wait_group senders;
            wait_group receivers;
            std::atomic<bool> over = false;
            for (std::size_t p = 0; p < parties; ++p) {
                senders.go([&, p] {
                    prng random(p + 1);
                    for (std::size_t i = 0; i < each; ++i) {
                        with_timeout(std::chrono::microseconds(random.below(40)),
                                     [&] { m.send_one(random, p * each + i); });
                    }
                });
                receivers.go([&, p] {
                    prng random(1000 + p);
                    while (!over) {
                        with_timeout(std::chrono::microseconds(random.below(40)), [&] { m.receive_one(random); });
                    }
                });
            }
            senders.wait();
            over = true;
            receivers.wait();
        });
        m.expect_balance();
    }
}

// Another thread cancels, at a random moment.
TEST_P(CancelRace, CancelledFuturesLoseNoValue) {
    constexpr std::size_t parties = 6;
    const auto each = static_cast<std::size_t>(scaled(1000));
    for (const std::size_t cap : {0U, 2U}) {
        market m(parties * each, cap);
        rt().run([&] {
            wait_group all;
            for (std::size_t p = 0; p < parties; ++p) {
                all.go([&, p] {
                    prng random(p + 1);
                    for (std::size_t i = 0; i < each; ++i) {
                        auto sender = async([&, own = random.split()]() mutable { m.send_one(own, p * each + i); });
                        auto receiver = async([&, own = random.split()]() mutable { m.receive_one(own); });
                        if (random.one_in(3)) weft::yield();
                        (random.one_in(2) ? sender : receiver).cancel();
                        if (random.one_in(3)) weft::yield();
                        sender.cancel();
                        receiver.cancel();
                        sender.get();
                        receiver.get();
                    }
                });
            }
            all.wait();
        });
        m.expect_balance();
    }
}

// Plain threads wait, and a plain thread stops them.
TEST_P(CancelRace, StoppedPlainThreadsLoseNoValue) {
    const auto each = static_cast<std::size_t>(scaled(1500));
    market m(4 * each, 1);
    std::array<std::atomic<std::stop_source*>, 4> current{};
    std::atomic<bool> over = false;
    std::atomic<int> working = 4;
    const auto live = [&](std::size_t me, bool sends) {
        prng random(me + 1);
        for (std::size_t i = 0; i < each; ++i) {
            std::stop_source source;
            current[me] = new std::stop_source(source);
            with_stop_token(source.get_token(), [&] {
                if (sends) {
                    m.send_one(random, me * each + i);
                } else {
                    m.receive_one(random);
                }
            });
            delete current[me].exchange(nullptr);
        }
        --working;
    };
    std::thread stopper([&] {
        prng random(77);
        while (!over) {
            if (std::stop_source* s = current[static_cast<std::size_t>(random.below(4))].exchange(nullptr)) {
                s->request_stop();
                delete s;
            }
            if (random.one_in(8)) std::this_thread::yield();
        }
    });
    std::vector<std::thread> threads;
    threads.emplace_back(live, 0, true);
    threads.emplace_back(live, 1, false);
    rt().go([&] { live(2, true); });
    rt().go([&] { live(3, false); });
    for (std::thread& t : threads) t.join();
    rt().drain();
    over = true;
    stopper.join();
    EXPECT_EQ(working, 0);
    m.expect_balance();
}

// A receiver in the middle of the queue leaves. Those before and behind it are served in order.
TEST_P(CancelRace, ACancelledWaiterKeepsTheQueueIntact) {
    const chan<int> c;
    std::atomic<int> served = 0;
    std::vector<future<void>> leaving;
    park(30, [&] {
        for (int i = 0; i < 30; ++i) {
            if (i % 3 == 1) {
                leaving.push_back(rt().async([&] { c.recv(); }));
            } else {
                rt().go([&] { served += c.recv().value_or(0); });
            }
        }
    });
    for (const future<void>& f : leaving) f.cancel();
    for (future<void>& f : leaving) EXPECT_THROW(f.get(), cancelled);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(c.try_send(1), chan_status::ok);
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
    rt().drain();
    EXPECT_EQ(served, 20);
}

// Cancelled senders have left nothing in the channel: what is buffered came from others.
TEST_P(CancelRace, ACancelledSenderHasSentNothing) {
    const chan<int> c(2);
    c.send(1);
    c.send(2);
    std::vector<future<void>> senders;
    park(10, [&] {
        for (int i = 0; i < 10; ++i) senders.push_back(rt().async([&, i] { c.send(10 + i); }));
    });
    for (std::size_t i = 0; i < 10; i += 2) senders[i].cancel();
    for (std::size_t i = 0; i < 10; i += 2) EXPECT_THROW(senders[i].get(), cancelled);
    EXPECT_EQ(c.len(), 2U);
    EXPECT_EQ(c.recv(), 1);
    EXPECT_EQ(c.recv(), 2);
    int sum = 0;
    for (int i = 0; i < 5; ++i) sum += c.recv().value_or(0);
    EXPECT_EQ(sum, 11 + 13 + 15 + 17 + 19);
    EXPECT_EQ(c.try_recv().status, chan_status::would_block);
    for (std::size_t i = 1; i < 10; i += 2) senders[i].get();
}

// The channel is destroyed as soon as the cancelled wait has returned: no thread may use it then.
TEST_P(CancelRace, AChannelMayBeDestroyedRightAfterACancelledWait) {
    const int rounds = scaled(2000);
    rt().run([rounds] {
        for (int i = 0; i < rounds; ++i) {
            auto f = async([i] {
                auto c = std::make_unique<chan<int>>(static_cast<std::size_t>(i % 2));
                auto d = std::make_unique<chan<int>>();
                const ending e = ending_of([&] {
                    if (i % 3 == 0) return static_cast<void>(c->recv());
                    if (i % 3 == 1) return static_cast<void>(select(recv_case(*c), recv_case(*d), send_case(*d, 1)));
                    sleep_for(1h);
                });
                c.reset();
                d.reset();
                return e;
            });
            if (i % 4 != 0) weft::yield();
            f.cancel();
            ASSERT_EQ(f.get(), ending::cancelled);
        }
    });
}

// A wait is closed, timed out, served and cancelled at once. Exactly one of the four ends it.
TEST_P(CancelRace, ExactlyOneCauseEndsAWait) {
    const int rounds = scaled(2000);
    std::array<std::atomic<int>, 5> ends{};
    rt().run([&] {
        prng random(3);
        for (int i = 0; i < rounds; ++i) {
            const chan<int> c;
            auto f = async([&, limit = std::chrono::microseconds(random.below(20)),
                            around = std::chrono::microseconds(random.below(20))] {
                try {
                    const auto r = with_timeout(around, [&] { return c.recv_for(limit); });
                    ++ends[static_cast<std::size_t>(r.status == chan_status::ok       ? 0
                                                    : r.status == chan_status::closed ? 1
                                                                                      : 2)];
                    return r.status == chan_status::ok;
                } catch (const cancelled&) {
                    ++ends[3];
                } catch (const timed_out&) {
                    ++ends[4];
                }
                return false;
            });
            wait_group others;
            bool sent = false;
            others.go([&] { sent = c.try_send(1) == chan_status::ok; });
            others.go([&] { f.cancel(); });
            if (random.one_in(2)) sleep_for(std::chrono::microseconds(random.below(20)));
            others.wait();
            c.close();
            ASSERT_EQ(f.get(), sent);
        }
    });
    EXPECT_EQ(ends[0] + ends[1] + ends[2] + ends[3] + ends[4], rounds);
}

}  // namespace
}  // namespace weft::test
