// cancel_lifecycle_test.cc: runtimes stop while their green threads wait in selects, in scopes and
// under deadlines. Cancellations that come later must find nothing of what was abandoned.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/for_ever.h"
#include "support/interruption.h"
#include "support/leaks.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using CancelLifecycle = procs_test;
WEFT_SWEEP(CancelLifecycle);

// After a stop: other green threads use the stacks, so that abandoned frames are overwritten.
void use_stacks(runtime& rt) {
    wait_group all;
    all.add(200);
    for (int i = 0; i < 200; ++i) {
        rt.go([&] {
            volatile std::byte fill[8192];
            for (volatile std::byte& b : fill) b = std::byte{0x5a};
            all.done();
        });
    }
    all.wait();
}

TEST_P(CancelLifecycle, AnAbandonedSelectLeavesAllQueues) {
    leak_on_purpose();
    const chan<int> a;
    const chan<int> b;
    const chan<int> full(1);
    full.send(0);
    std::atomic<int> went_on = 0;
    park(30, [&] {
        for (int i = 0; i < 10; ++i) {
            rt().go(
                [&] { select(on_recv(a, [](auto) {}), on_recv(b, [](auto) {}), on_recv(a, [](auto) {})), ++went_on; });
            rt().go(
                [&] { select(on_send(full, 1, [] {}), on_recv(b, [](auto) {}), on_timeout(1h, [] {})), ++went_on; });
            rt().go([&] {
                select_set set;
                set.add_recv(a, [](auto) {});
                set.add_send(full, 2, [] {});
                set.wait();
                ++went_on;
            });
        }
    });
    EXPECT_EQ(rt().abandon(), 30U);
    EXPECT_EQ(a.try_send(1), chan_status::would_block);
    EXPECT_EQ(b.try_send(1), chan_status::would_block);
    EXPECT_EQ(full.try_recv().value, 0);
    EXPECT_EQ(full.try_recv().status, chan_status::would_block);
    a.close();
    b.close();
    rt().start();
    use_stacks(rt());
    EXPECT_EQ(went_on, 0);
}

TEST_P(CancelLifecycle, FuturesOfAbandonedGreenThreadsMayBeCancelled) {
    leak_on_purpose();
    std::vector<future<void>> f;
    const chan<int> c;
    const chan<int> d;
    park(8, [&] {
        f.push_back(rt().async(wait_for_ever));
        f.push_back(rt().async([&] { with_timeout(1h, [&] { c.recv(); }); }));
        f.push_back(rt().async([&] { with_timeout(2h, [&] { with_timeout(1h, [] { sleep_for(1h); }); }); }));
        f.push_back(rt().async([&] { select(on_recv(c, [](auto) {}), on_send(d, 1, [] {})); }));
        f.push_back(rt().async([] {
            scope([](task_scope& s) {
                s.go(wait_for_ever);
                s.go([] { scope([](task_scope&) { wait_for_ever(); }); });
            });
        }));
        f.push_back(rt().async([] {
            static_cast<void>(this_g::stop_token());
            wait_for_ever();
        }));
    });
    EXPECT_EQ(rt().abandon(), 8U);
    rt().start();
    use_stacks(rt());
    for (const future<void>& each : f) {
        each.cancel();
        EXPECT_FALSE(each.is_ready());
        EXPECT_EQ(each.wait_for(0s), std::future_status::timeout);
    }
    use_stacks(rt());
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
    EXPECT_EQ(d.try_recv().status, chan_status::would_block);
}

TEST_P(CancelLifecycle, TokensOfAbandonedGreenThreadsMayBeStopped) {
    leak_on_purpose();
    std::stop_source source;
    std::vector<std::stop_token> told(2);
    park(3, [&] {
        rt().go([&] { with_stop_token(source.get_token(), wait_for_ever); });
        rt().go([&] {
            with_stop_token(source.get_token(), [&] {
                told[0] = this_g::stop_token();
                with_timeout(1h, [&] {
                    told[1] = this_g::stop_token();
                    scope([](task_scope& s) { s.go(wait_for_ever); });
                });
            });
        });
    });
    EXPECT_EQ(rt().abandon(), 3U);
    rt().start();
    use_stacks(rt());
    source.request_stop();
    use_stacks(rt());
    for (const std::stop_token& t : told) static_cast<void>(t.stop_requested());
}

// Cancelled, and therefore runnable, when the runtime stops.
TEST_P(CancelLifecycle, CancelledGreenThreadsMayBeAbandoned) {
    leak_on_purpose();
    const int rounds = scaled(50);
    for (int round = 0; round < rounds; ++round) {
        const chan<int> c;
        const chan<int> d;
        std::vector<future<void>> f;
        std::atomic<std::size_t> finished = 0;
        constexpr std::size_t n = 20;
        park(n, [&] {
            for (std::size_t i = 0; i < n; ++i) {
                f.push_back(rt().async([&, i] {
                    const ending e = ending_of([&] {
                        if (i % 2 == 0) return static_cast<void>(c.recv());
                        select(on_recv(c, [](auto) {}), on_recv(d, [](auto) {}), on_timeout(1h, [] {}));
                    });
                    finished += e == ending::cancelled;
                }));
            }
        });
        std::thread canceller([&] {
            for (const future<void>& each : f) each.cancel();
        });
        const std::size_t abandoned = rt().abandon();
        canceller.join();
        EXPECT_EQ(finished + abandoned, n);
        EXPECT_EQ(c.try_send(1), chan_status::would_block);
        EXPECT_EQ(d.try_send(1), chan_status::would_block);
        rt().start();
    }
}

// Deadlines expire, cancellations and hand-offs happen while the runtime stops.
TEST_P(CancelLifecycle, ARuntimeMayStopDuringCancellations) {
    leak_on_purpose();
    const int rounds = scaled(50);
    prng random(1);
    for (int round = 0; round < rounds; ++round) {
        const chan<int> a;
        const chan<int> b(1);
        std::vector<future<void>> f;
        constexpr int n = 40;
        for (int i = 0; i < n; ++i) {
            f.push_back(rt().async([&, own = random.split()]() mutable {
                for (int k = 0; k < 20; ++k) {
                    static_cast<void>(ending_of([&] {
                        with_timeout(std::chrono::microseconds(own.below(300)), [&] {
                            switch (own.below(5)) {
                                case 0:
                                    return static_cast<void>(
                                        select(recv_case(a), send_case(b, 1), timeout_case(100us)));
                                case 1:
                                    return a.send(1);
                                case 2:
                                    return static_cast<void>(b.recv());
                                case 3:
                                    return scope([&](task_scope& s) {
                                        s.go([&] { a.recv(); });
                                        s.go([&] { static_cast<void>(select(send_case(a, 1), recv_case(b))); });
                                        sleep_for(50us);
                                        s.cancel();
                                    });
                                default:
                                    return sleep_for(std::chrono::microseconds(own.below(100)));
                            }
                        });
                    }));
                }
            }));
        }
        std::atomic<bool> over = false;
        std::thread canceller([&] {
            for (std::size_t i = 0; !over; i = (i + 7) % f.size()) f[i].cancel();
        });
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(2000)));
        rt().abandon();
        over = true;
        canceller.join();
        for (const future<void>& each : f) each.cancel();
        EXPECT_EQ(a.try_send(1), chan_status::would_block);
        EXPECT_EQ(a.try_recv().status, chan_status::would_block);
        static_cast<void>(b.try_recv());
        EXPECT_EQ(b.try_recv().status, chan_status::would_block);
        EXPECT_EQ(b.try_send(1), chan_status::ok);
        rt().start();
    }
}

// Two runtimes: a green thread of one waits for a future of the other in a select. Either runtime
// may stop.
TEST_P(CancelLifecycle, ASelectOnAFutureOfAStoppedRuntimeEndsByItsOtherCases) {
    leak_on_purpose();
    auto other = std::make_unique<runtime>(runtime_options{.procs = 1});
    auto f = other->async(wait_for_ever);
    const chan<int> c;
    std::atomic<std::size_t> chosen = 99;
    park(1, [&] { rt().go([&] { chosen = select(on_future(f, [] {}), on_recv(c, [](auto) {})); }); });
    EXPECT_EQ(other->abandon(), 1U);
    other.reset();
    f.cancel();
    c.send(1);
    rt().drain();
    EXPECT_EQ(chosen, 1U);
}

TEST_P(CancelLifecycle, AnAbandonedSelectLeavesItsFuture) {
    const chan<int> gate;
    auto f = rt().async([gate] { gate.recv(); });
    auto other = std::make_unique<runtime>(runtime_options{.procs = 1});
    const uint64_t parks = other->stats().parks;
    other->go([&] { static_cast<void>(select(ready_case(f), ready_case(f), recv_case(gate), timeout_case(1h))); });
    eventually([&] { return other->stats().parks > parks; });
    EXPECT_EQ(other->abandon(), 1U);
    other.reset();
    gate.send(1);
    f.get();
}

TEST(CancelMain, AbandonedWorkMayBeCancelledLater) {
    leak_on_purpose();
    std::optional<future<void>> f;
    std::stop_source source;
    const chan<int> c;
    weft::main(runtime_options{.procs = 2}, [&] {
        const uint64_t parks = stats().parks;
        f = async([&] {
            with_timeout(1h, [&] {
                scope([&](task_scope& s) {
                    s.go([&] {
                        with_stop_token(source.get_token(),
                                        [&] { static_cast<void>(select(recv_case(c), send_case(c, 1))); });
                    });
                });
            });
        });
        eventually([&] { return stats().parks >= parks + 2; });
    });
    f->cancel();
    source.request_stop();
    EXPECT_EQ(c.try_send(1), chan_status::would_block);
    EXPECT_FALSE(f->is_ready());
    c.close();
}

}  // namespace
}  // namespace weft::test
