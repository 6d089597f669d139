// retaken_call_test.cc: green threads that have lost their P and then make blocking calls, pin
// themselves, use other runtimes, are dumped, or are stopped.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "support/captured.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/retaken.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class RetakenCall : public short_slice_test {
protected:
    RetakenCall() : short_slice_test(30s) {}

    template <typename F>
    auto among_a_crowd(F&& body) {
        const crowd busy(rt());
        return rt().run(body);
    }
};

WEFT_SWEEP_OVER(RetakenCall, 1U, 2U, 4U);

// ---- Declared blocking calls.

TEST_P(RetakenCall, ABlockingCallWorksWithoutAP) {
    const int n = scaled(60);
    tally made(static_cast<std::size_t>(n));
    among_a_crowd([&] {
        const uint64_t id = this_g::id();
        for (int i = 0; i < n; ++i) {
            lose_p();
            const int before = os_thread_id();
            const int inside = blocking(static_cast<hand_off>(i % 3), [&] {
                made.mark(static_cast<std::size_t>(i));
                EXPECT_EQ(this_g::id(), 0U);
                if (i % 4 == 0) ::usleep(100);
                return os_thread_id();
            });
            EXPECT_EQ(inside, before) << "f runs where its caller was";
            EXPECT_EQ(this_g::id(), id);
            lose_p();
            EXPECT_THROW(blocking([] { throw std::runtime_error("inside"); }), std::runtime_error);
        }
    });
    EXPECT_TRUE(made.exactly_once());
}

// After the call, a G computes only when it has a P.
TEST_P(RetakenCall, ABlockingCallReturnsWithAP) {
    among_a_crowd([] {
        int with = 0;
        for (int i = 0; i < scaled(60); ++i) {
            lose_p();
            blocking([] { ::usleep(50); });
            with += has_p();  // it may be retaken again at that moment
        }
        EXPECT_GT(with, 0);
    });
}

TEST_P(RetakenCall, ABlockingPoolWorksWithoutAP) {
    blocking_pool pool("narrow", 1);
    std::atomic<int> made = 0;
    std::atomic<int> inside = 0;
    std::atomic<int> overlaps = 0;
    const int rounds = scaled(20);
    among_a_crowd([&] {
        wait_group all;
        for (int i = 0; i < 4; ++i) {
            all.go([&] {
                for (int r = 0; r < rounds; ++r) {
                    lose_p();
                    pool.run([&] {
                        overlaps += ++inside > 1;
                        ++made;
                        if (r % 2 == 0) ::usleep(50);
                        --inside;
                    });
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(made, 4 * rounds);
    EXPECT_EQ(overlaps, 0);
}

// ---- Pins.

TEST_P(RetakenCall, PinsWorkWithoutAP) {
    std::atomic<int> moves = 0;
    const int rounds = scaled(40);
    among_a_crowd([&] {
        wait_group all;
        for (int i = 0; i < 3; ++i) {
            all.go([&, i] {
                for (int r = 0; r < rounds; ++r) {
                    lose_p();
                    {
                        const pin here;
                        const int mine = os_thread_id();
                        EXPECT_TRUE(this_g::pinned());
                        if (r % 4 == i) weft::yield();
                        if (r % 4 == 1) blocking([] { ::usleep(20); });
                        if (r % 4 == 2) sleep_for(10us);
                        lose_p();
                        go([] {});
                        moves += os_thread_id() != mine;
                    }
                    EXPECT_FALSE(this_g::pinned());
                    weft::yield();
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(moves, 0);
}

TEST_P(RetakenCall, PinnedGsResumeOnTheirThread) {
    constexpr int n = 4;
    const int rounds = scaled(30);
    std::atomic<int> moves = 0;
    std::atomic<int> ended = 0;
    {
        const crowd busy(rt());
        wait_group all;
        all.add(n);
        for (int i = 0; i < n; ++i) {
            rt().go([&, i] {
                {
                    pin here;
                    const int mine = os_thread_id();
                    for (int r = 0; r < rounds; ++r) {
                        lose_p();
                        moves += os_thread_id() != mine;
                        if (r % 3 == 0) weft::yield();
                        if (r % 3 == 1) sleep_for(10us);
                        if (r % 3 == 2) async([] {}).get();
                        moves += os_thread_id() != mine;
                    }
                    if (i == 0) here.keep();
                    lose_p();
                }
                ++ended;
                all.done();
            });
        }
        all.wait();
    }
    EXPECT_EQ(ended, n);
    EXPECT_EQ(moves, 0);
}

// ---- Other runtimes.

TEST_P(RetakenCall, CommunicatesWithAnotherRuntime) {
    runtime other({.procs = 2, .name = "other"});
    const int n = scaled(60);
    int sum = 0;
    std::atomic<int> elsewhere = 0;
    among_a_crowd([&] {
        const chan<int> there;
        const chan<int> back(1);
        other.go([=] {
            for (const int v : there) back.send(v + 1);
            back.close();
        });
        for (int i = 0; i < n; ++i) {
            lose_p();
            if (i % 5 == 0) other.go([&] { ++elsewhere; });
            there.send(int{i});
            lose_p();
            sum += *back.recv();
            if (i % 10 == 0) {
                EXPECT_EQ(blocking([&] { return other.run([] { return stats().procs; }); }), 2U);
            }
        }
        there.close();
    });
    other.drain();
    EXPECT_EQ(sum, n * (n + 1) / 2);
    EXPECT_EQ(elsewhere, (n + 4) / 5);
}

// ---- Shown in dumps.

TEST_P(RetakenCall, DumpsListItOnce) {
    std::atomic<bool> over = false;
    const crowd busy(rt());
    wait_group ended;
    ended.add();
    rt().go({.name = "without-p"}, [&] {
        while (!over) {
            lose_p();
            compute_for(100us);
            if (os_thread_id() % 3 == 0) go([] {});
        }
        ended.done();
    });
    eventually([&] { return rt().stats().retakes_burning > 0; });
    for (int i = 0; i < scaled(50); ++i) {
        const std::string dump = written_by([&](int fd) { rt().dump(fd, {.names = false}); });
        EXPECT_EQ(occurrences(dump, "without-p"), 1U) << dump;
    }
    over = true;
    ended.wait();
}

// ---- Stopped.

TEST_P(RetakenCall, ItsRuntimeStopsAtOnceWhenTheCallReturns) {
    const int rounds = scaled(10);
    for (int round = 0; round < rounds; ++round) {
        std::atomic<int> ran = 0;
        std::atomic<bool> stopping = false;
        constexpr int gs = 6;
        for (int i = 0; i < gs; ++i) {
            rt().go([&, i] {
                ++ran;
                if (i % 3 == 0) {
                    blocking([&] {
                        while (!stopping) ::usleep(100);
                    });
                } else if (i % 3 == 1) {
                    while (!stopping) {}
                } else {
                    while (!stopping) ::usleep(100);
                }
                if (i % 2 == 0) weft::yield();
            });
        }
        eventually([&] { return ran == gs; });
        std::thread late([&] {
            std::this_thread::sleep_for(1ms);
            stopping = true;
        });
        EXPECT_LE(rt().abandon(), std::size_t{gs});
        late.join();
        rt().start();
        EXPECT_EQ(rt().run([] { return 3; }), 3);
    }
}

}  // namespace
}  // namespace weft::test
