// select_blocking_test.cc: selects that wait: on several channels, on one channel several times,
// and for each other.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/captured.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using SelectBlocking = procs_test;
WEFT_SWEEP(SelectBlocking);

TEST_P(SelectBlocking, AnyOfItsChannelsEndsTheWait) {
    for (std::size_t which = 0; which < 4; ++which) {
        const chan<int> in;
        const chan<int> full(1);
        full.send(0);
        const chan<std::string> other;
        const chan<int> shut;
        std::atomic<std::size_t> chosen = 99;
        park(1, [&] {
            rt().go([&] {
                chosen = select(on_recv(in, [](std::optional<int> v) { EXPECT_EQ(v, 5); }), on_send(full, 7, [] {}),
                                on_recv(other, [](std::optional<std::string> v) { EXPECT_EQ(v, "weft"); }),
                                on_recv(shut, [](std::optional<int> v) { EXPECT_EQ(v, std::nullopt); }));
            });
        });
        if (which == 0) in.send(5);
        if (which == 1) {
            EXPECT_EQ(full.recv(), 0);
        }
        if (which == 2) other.send("weft");
        if (which == 3) shut.close();
        rt().drain();
        EXPECT_EQ(chosen, which);
        if (which == 1) {
            EXPECT_EQ(full.recv(), 7);
        }

        // The select has left nothing in the other channels.
        EXPECT_EQ(in.try_send(1), chan_status::would_block);
        EXPECT_EQ(other.try_send("x"), chan_status::would_block);
        EXPECT_EQ(full.try_send(1), which == 1 ? chan_status::ok : chan_status::would_block);
        in.close();
        other.close();
    }
}

// A losing case leaves the queue of its channel unchanged for the waiters before and behind it.
TEST_P(SelectBlocking, ALosingCaseLeavesTheQueueIntact) {
    for (int before = 0; before < 3; ++before) {
        for (int behind = 0; behind < 3; ++behind) {
            const chan<int> contested;
            const chan<int> way_out;
            std::vector<int> order;
            std::atomic<int> came = 0;
            std::atomic<bool> lost_well = false;
            const auto wait_there = [&](int number) {
                park(1, [&] {
                    rt().go([&, number] {
                        contested.recv();
                        order.push_back(number);  // one at a time: the next value is sent when this one has come
                        ++came;
                    });
                });
            };
            for (int i = 0; i < before; ++i) wait_there(i);
            park(1, [&] {
                rt().go([&] {
                    lost_well = select(recv_case(contested), recv_case(way_out), recv_case(contested)).index() == 1;
                });
            });
            for (int i = 0; i < behind; ++i) wait_there(before + i);
            way_out.send(1);
            eventually([&] { return lost_well.load(); });
            for (int i = 0; i < before + behind; ++i) {
                contested.send(i);
                rt().run([] {});
                eventually([&] { return came == i + 1; });
            }
            EXPECT_EQ(contested.try_send(9), chan_status::would_block);
            ASSERT_EQ(order.size(), static_cast<std::size_t>(before + behind));
            for (int i = 0; i < before + behind; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
        }
    }
}

// A select between receivers and senders of the same channel; its other case is served.
TEST_P(SelectBlocking, LosersBetweenPlainReceiversAndSendersAreSkipped) {
    rt().run([] {
        const chan<bool> c1;
        const chan<bool> c2;
        const chan<bool> c3;
        std::atomic<int> wrong = 0;
        wait_group all;
        all.go([&] { c1.recv(); });
        all.go([&] {
            if (select(recv_case(c1), recv_case(c2)).index() == 0) {
                // Nothing is sent to c1 before this select has returned.
                ++wrong;
            } else {
                c3.send(true);
            }
            c1.recv();
        });
        all.go([&] { c2.send(true); });
        c3.recv();
        c1.send(true);
        c1.send(true);
        all.go([&] { c1.send(true); });
        all.go([&] {
            if (select(send_case(c1, true), recv_case(c2)).index() == 0) {
                ++wrong;
            } else {
                c3.send(true);
            }
            c1.send(true);
        });
        all.go([&] { c2.send(true); });
        c3.recv();
        c1.recv();
        c1.recv();
        all.wait();
        EXPECT_EQ(wrong, 0);
    });
}

// A select that waits twice on one channel and is served by another removes both of its waiters,
// and no others.
TEST_P(SelectBlocking, AChannelListedTwiceIsRemovedFromBothCases) {
    const chan<int> c;
    const chan<int> d;
    std::atomic<int> served = 0;
    park(1, [&] { rt().go([&] { served += select(recv_case(c), recv_case(c), recv_case(d)).index() == 2; }); });
    std::atomic<int> got = 0;
    park(1, [&] { rt().go([&] { got = c.recv().value_or(-1); }); });
    d.send(7);
    eventually([&] { return served == 1; });
    c.send(8);
    rt().drain();
    EXPECT_EQ(got, 8);
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
}

TEST_P(SelectBlocking, AChannelListedManyTimesIsServedOnce) {
    const int rounds = scaled(300);
    for (int i = 0; i < rounds; ++i) {
        const chan<int> c;
        std::atomic<int> calls = 0;
        const auto count = [&](std::optional<int> v) { calls += v.value_or(100); };
        park(1, [&] {
            rt().go([&] {
                select(on_recv(c, count), on_recv(c, count), on_recv(c, count), on_recv(c, count), on_recv(c, count));
            });
        });
        EXPECT_EQ(c.try_send(1), chan_status::ok);
        EXPECT_EQ(c.try_send(1), chan_status::would_block);
        rt().drain();
        EXPECT_EQ(calls, 1);
    }
}

// Closing a channel finds a select several times in its queue, and wakes it once.
TEST_P(SelectBlocking, ClosingAChannelListedManyTimesWakesOnce) {
    const chan<int> c;
    const chan<int> d;
    std::atomic<int> closed = 0;
    std::atomic<int> thrown = 0;
    park(20, [&] {
        for (int i = 0; i < 10; ++i) {
            rt().go([&] { closed += select(recv_case(c), recv_case(d), recv_case(c), recv_case(d)).index() % 2 == 0; });
            rt().go([&] {
                try {
                    static_cast<void>(select(recv_case(d), recv_case(d), recv_case(chan<int>::nil())));
                } catch (const channel_closed&) {
                    ++thrown;
                }
            });
        }
    });
    c.close();
    eventually([&] { return closed == 10; });
    d.close();
    rt().drain();
    EXPECT_EQ(thrown, 0);
}

TEST_P(SelectBlocking, CloseDuringAWaitingSendThrows) {
    const chan<int> c;
    const chan<int> d;
    std::atomic<int> thrown = 0;
    std::atomic<int> called = 0;
    park(8, [&] {
        for (int i = 0; i < 8; ++i) {
            rt().go([&, by_value = i % 2 == 0] {
                try {
                    if (by_value) {
                        static_cast<void>(select(send_case(c, 1), recv_case(d), send_case(c, 2)));
                    } else {
                        select(on_send(c, 1, [&] { ++called; }), on_recv(d, [&](auto) { ++called; }));
                    }
                } catch (const channel_closed&) {
                    ++thrown;
                }
            });
        }
    });
    c.close();
    rt().drain();
    EXPECT_EQ(thrown, 8);
    EXPECT_EQ(called, 0);
    EXPECT_EQ(d.try_send(1), chan_status::would_block);
}

// Two selects that offer both directions of one channel meet each other. One never meets itself.
TEST_P(SelectBlocking, BothDirectionsMeetOthersButNotThemselves) {
    const int each = scaled(5000);
    for (const std::size_t cap : {0U, 10U}) {
        std::atomic<int> mistakes = 0;
        std::atomic<int> sent = 0;
        std::atomic<int> received = 0;
        const chan<int> c(cap);
        const auto live = [&](int me) {
            for (int i = 0; i < each; ++i) {
                const auto take = [&](std::optional<int> v) {
                    ++received;
                    mistakes += !v.has_value() || (cap == 0 && *v == me);
                };
                if (me == 0 || i % 2 == 0) {
                    select(on_send(c, me, [&] { ++sent; }), on_recv(c, take));
                } else {
                    select(on_recv(c, take), on_send(c, me, [&] { ++sent; }));
                }
            }
        };
        rt().go([&] { live(0); });
        rt().go([&] { live(1); });
        rt().drain();
        EXPECT_EQ(mistakes, 0);
        EXPECT_EQ(sent - received, static_cast<int>(c.len())) << "capacity " << cap;
    }
}

TEST_P(SelectBlocking, BothDirectionsAloneBlockOnAnUnbufferedChannel) {
    const chan<int> c;
    std::optional<future<std::size_t>> lonely;
    park(1, [&] {
        lonely =
            rt().async([&] { return select(on_send(c, 1, [] {}), on_recv(c, [](auto) {}), on_send(c, 2, [] {})); });
    });
    EXPECT_FALSE(lonely->is_ready());
    EXPECT_TRUE(c.try_recv());
    EXPECT_NE(lonely->get(), 1U);
    EXPECT_EQ(c.try_recv().status, chan_status::would_block);
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
}

TEST_P(SelectBlocking, OverlappingSelectsInAllOrdersDoNotDeadlock) {
    const int each = scaled(1000);
    const std::array<chan<int>, 3> c;
    std::atomic<long> sent = 0;
    std::atomic<long> received = 0;
    const chan<int> over;
    wait_group senders;
    wait_group receivers;
    senders.add(6);
    receivers.add(6);
    for (std::size_t i = 0; i < 6; ++i) {
        const chan<int> a = c[i % 3];
        const chan<int> b = c[(i % 3 + 1 + i / 3) % 3];
        rt().go([&, a, b] {
            for (int k = 0; k < each; ++k) sent += select(on_send(a, 1, [] {}), on_send(b, 1, [] {})) < 2 ? 1 : 0;
            senders.done();
        });
        rt().go([&, a, b] {
            while (select(on_recv(b, [&](auto v) { received += v.value_or(0); }),
                          on_recv(a, [&](auto v) { received += v.value_or(0); }), on_recv(over, [](auto) {})) != 2) {}
            receivers.done();
        });
    }
    senders.wait();
    over.close();
    receivers.wait();
    EXPECT_EQ(sent, 6L * each);
    EXPECT_EQ(received, sent);
}

TEST_P(SelectBlocking, WithoutAPossibleCaseItBlocksForEver) {
    std::vector<future<void>> waiting;
    const chan<int> nil = chan<int>::nil();
    park_off_thread(3, [&] {
        waiting.push_back(rt().async({.name = "empty"}, [] { select(); }));
        waiting.push_back(rt().async([&] { select(on_recv(nil, [](auto) {}), on_send(nil, 1, [] {})); }));
        waiting.push_back(
            rt().async([&] { static_cast<void>(select(recv_case(nil), timeout_case(std::chrono::hours::max()))); }));
    });
    const std::string report = written_by([&](int fd) { rt().dump(fd); });
    EXPECT_EQ(occurrences(report, "[select (no cases), "), 1U) << report;
    EXPECT_EQ(occurrences(report, "[select, "), 2U) << report;
    for (const future<void>& w : waiting) {
        EXPECT_FALSE(w.is_ready());
        w.cancel();
    }
    for (future<void>& w : waiting) EXPECT_THROW(w.get(), cancelled);
}

TEST_P(SelectBlocking, TheDumpShowsTheSelect) {
    const chan<int> c;
    park_off_thread(1, [&] { rt().go([&] { select(on_recv(c, [](auto) {}), on_send(c, 1, [] {})); }); });
    const std::string report = written_by([&](int fd) { rt().dump(fd); });
    EXPECT_EQ(occurrences(report, "[select, "), 1U) << report;
    c.send(1);
    rt().drain();
}

// A losing case leaves neither memory nor a waiter.
TEST_P(SelectBlocking, ManySelectsUseNoMoreMemory) {
    const int rounds = scaled(100'000);
    const chan<int> busy;
    const chan<int> silent;
    const auto loop = [&](int n) {
        rt().go([&, n] {
            for (int i = 0; i < n; ++i) busy.send(i);
        });
        rt().run([&, n] {
            for (int i = 0; i < n; ++i) {
                static_cast<void>(select(recv_case(silent), recv_case(busy), send_case(silent, 1), timeout_case(1h)));
            }
        });
    };
    loop(rounds / 10);
    const std::size_t before = resources::now().resident_kib;
    loop(rounds);
    if (!built_with_sanitizer && !emulated) {
        EXPECT_LE(resources::now().resident_kib, before + 1024);
    }
    EXPECT_EQ(silent.try_send(1), chan_status::would_block);
    EXPECT_EQ(silent.try_recv().status, chan_status::would_block);
}

}  // namespace
}  // namespace weft::test
