// retaken_park_test.cc: green threads that have lost their P, and then wait.

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/retaken.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class RetakenPark : public short_slice_test {
protected:
    // Runs body such that lose_p() can be called.
    template <typename F>
    auto among_a_crowd(F&& body) {
        const crowd busy(rt());
        return rt().run(body);
    }
};

WEFT_SWEEP_OVER(RetakenPark, 1U, 2U, 4U);

TEST_P(RetakenPark, AYieldReturnsWithAP) {
    among_a_crowd([] {
        for (int i = 0; i < scaled(40); ++i) {
            lose_p();
            const bool another_ran = weft::yield();
            // With several Ps, or when others lose theirs too, it may have found a P that was idle
            // for a moment.
            EXPECT_TRUE(another_ran || stats().procs > 1 || in_storm());
        }
    });
}

// A checkpoint is a preemption point for a G that computes: it waits there for its turn.
TEST_P(RetakenPark, ACheckpointReturnsWithAP) {
    among_a_crowd([] {
        for (int i = 0; i < scaled(40); ++i) {
            lose_p();
            checkpoint();
            int looks = 0;
            while (!has_p() && looks < 1'000'000) {  // it may have been retaken again
                ++looks;
                checkpoint();
            }
            EXPECT_LT(looks, 1'000'000);
        }
    });
}

TEST_P(RetakenPark, ChannelsWorkWithoutAP) {
    const int n = scaled(60);
    for (const std::size_t capacity : {0U, 1U, 4U}) {
        tally seen(static_cast<std::size_t>(n));
        among_a_crowd([&] {
            const chan<int> there(capacity);
            const chan<int> back(capacity);
            wait_group partner;
            partner.go([=] {
                for (int v : there) {
                    if (v % 4 == 0) lose_p();
                    back.send(std::move(v));
                }
                back.close();
            });
            partner.go([&] {
                for (const int v : back) {
                    if (v % 8 == 0) lose_p();
                    seen.mark(static_cast<std::size_t>(v));
                }
            });
            for (int i = 0; i < n; ++i) {
                if (i % 2 == 0) lose_p();
                there.send(int{i});
            }
            there.close();
            partner.wait();
        });
        EXPECT_TRUE(seen.exactly_once()) << "capacity " << capacity;
    }
}

TEST_P(RetakenPark, WaitsForAMutexWithoutAP) {
    constexpr int gs = 4;
    const int rounds = scaled(15);
    long inside = 0;  // guarded by m
    mutex m;
    among_a_crowd([&] {
        wait_group all;
        for (int i = 0; i < gs; ++i) {
            all.go([&] {
                for (int r = 0; r < rounds; ++r) {
                    lose_p();
                    const std::lock_guard hold(m);
                    const long before = inside;
                    if (r % 2 == 0) lose_p();  // with the lock
                    compute_for(200us);
                    inside = before + 1;
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(inside, long{gs} * rounds);
}

TEST_P(RetakenPark, SleepIsNeverEarlyWithoutAP) {
    among_a_crowd([] {
        for (int i = 0; i < scaled(30); ++i) {
            lose_p();
            const auto length = std::chrono::microseconds(i * 50);
            const auto before = std::chrono::steady_clock::now();
            sleep_for(length);
            EXPECT_GE(std::chrono::steady_clock::now() - before, length);
        }
    });
}

TEST_P(RetakenPark, SelectWorksWithoutAP) {
    const int n = scaled(90);
    tally sent(static_cast<std::size_t>(n));
    tally got(static_cast<std::size_t>(n));
    std::atomic<int> timeouts = 0;
    among_a_crowd([&] {
        const chan<int> a;
        const chan<int> b(1);
        const chan<int> silent;
        wait_group senders;
        for (const chan<int>* to : {&a, &b}) {
            senders.go([&, c = *to, first = to == &a ? 0 : 1] {
                for (int i = first; i < n; i += 2) {
                    if (i % 10 == first) lose_p();
                    c.send(int{i});
                    sent.mark(static_cast<std::size_t>(i));
                }
            });
        }
        for (int left = n; left > 0;) {
            if (left % 5 == 0) lose_p();
            const auto take = [&](std::optional<int> v) {
                got.mark(static_cast<std::size_t>(v.value_or(n)));
                --left;
            };
            weft::select(on_recv(a, take), on_recv(b, take), on_recv(silent, [](std::optional<int>) {}),
                         on_timeout(200us, [&] { ++timeouts; }));
        }
        senders.wait();
        lose_p();
        weft::select(on_recv(silent, [](std::optional<int>) {}), on_timeout(1ms, [&] { ++timeouts; }));
    });
    EXPECT_TRUE(got.exactly_once());
    EXPECT_TRUE(sent.exactly_once());
    EXPECT_GE(timeouts, 1);
}

// ---- Interrupted.

TEST_P(RetakenPark, ADeadlineEndsAWaitWithoutAP) {
    among_a_crowd([] {
        const chan<int> silent;
        for (int i = 0; i < scaled(30); ++i) {
            lose_p();
            EXPECT_EQ(ending_of([&] {
                          with_timeout(100us, [&] {
                              lose_p();
                              silent.recv();
                          });
                          return 0;
                      }),
                      ending::timed_out);
            // The deadline passed while it computed.
            EXPECT_EQ(ending_of([&] {
                          const auto due = std::chrono::steady_clock::now() + 50us;
                          with_deadline(due, [&] {
                              compute_for(100us);
                              lose_p();
                              sleep_for(1h);
                          });
                          return 0;
                      }),
                      ending::timed_out);
            lose_p();
            EXPECT_EQ(silent.recv_for(10us).status, chan_status::timed_out);
        }
    });
}

TEST_P(RetakenPark, ACancellationEndsAWaitWithoutAP) {
    std::atomic<int> cancelled_waits = 0;
    const int rounds = scaled(30);
    among_a_crowd([&] {
        const chan<int> silent;
        for (int i = 0; i < rounds; ++i) {
            std::stop_source source;
            wait_group all;
            all.go([&, token = source.get_token()] {
                cancelled_waits += ending_of([&] {
                                       with_stop_token(token, [&] {
                                           lose_p();
                                           silent.recv();
                                       });
                                       return 0;
                                   }) == ending::cancelled;
            });
            auto computing = async([&] {
                lose_p();
                sleep_for(1h);
            });
            if (i % 2 == 0) weft::yield();
            lose_p();
            source.request_stop();
            computing.cancel();
            cancelled_waits += ending_of([&] {
                                   computing.get();
                                   return 0;
                               }) == ending::cancelled;
            all.wait();
        }
    });
    EXPECT_EQ(cancelled_waits, 2 * rounds);
}

TEST_P(RetakenPark, AScopeJoinsGreenThreadsWithoutAP) {
    std::atomic<int> ended = 0;
    const int n = scaled(40);
    among_a_crowd([&] {
        lose_p();
        scope([&](auto& s) {
            for (int i = 0; i < n; ++i) {
                s.go([&] {
                    lose_p();
                    ++ended;
                });
            }
            lose_p();
        });
        EXPECT_EQ(ended, n);
    });
}

// ---- A runtime that ends.

TEST_P(RetakenPark, StopWaitsUntilItParks) {
    std::atomic<bool> lost = false;
    std::atomic<bool> ended = false;
    {
        const crowd busy(rt());
        rt().go([&] {
            lose_p();
            lost = true;
            compute_for(20ms);
            ended = true;
        });
        eventually([&] { return lost.load(); });
        // The crowd is abandoned, or has ended.
    }
    rt().drain();
    EXPECT_EQ(rt().abandon(), 0U);
    EXPECT_TRUE(ended);
    rt().start();
    EXPECT_EQ(rt().run([] { return 5; }), 5);
}

}  // namespace
}  // namespace weft::test
