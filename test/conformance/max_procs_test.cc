// max_procs_test.cc: the number of processors changes while green threads run, and nothing is lost.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Duration of the storm below: WEFT_STRESS_SECONDS if set, otherwise one second.
std::chrono::milliseconds storm_time() {
    const auto seconds = number_from_environment("WEFT_STRESS_SECONDS", 0);
    return seconds != 0 ? std::chrono::seconds(seconds) : std::chrono::milliseconds(scaled(1000));
}

class MaxProcs : public procs_test {
protected:
    MaxProcs() : procs_test(std::chrono::ceil<std::chrono::seconds>(storm_time())) {}
};

WEFT_SWEEP(MaxProcs);

// How many of n green threads that compute for a while run at once, at most.
int most_at_once(runtime& rt, int n) {
    std::atomic<int> now = 0;
    std::atomic<int> most = 0;
    rt.run([&] {
        wait_group all;
        for (int i = 0; i < n; ++i) {
            all.go([&] {
                for (int k = 0; k < 20; ++k) {
                    const int here = ++now;
                    for (int seen = most; seen < here && !most.compare_exchange_weak(seen, here);) {}
                    compute_for(100us);
                    --now;
                    yield();
                }
            });
        }
        all.wait();
    });
    return most;
}

TEST_P(MaxProcs, ReturnsThePreviousNumberAndSetsTheNewOne) {
    EXPECT_EQ(rt().set_max_procs(3), procs());
    EXPECT_EQ(rt().procs(), 3U);
    EXPECT_EQ(rt().stats().procs, 3U);
    EXPECT_EQ(rt().set_max_procs(1), 3U);
    EXPECT_EQ(rt().procs(), 1U);
}

TEST_P(MaxProcs, AcceptsTheLargestNumber) {
    if (runs_in_wine())
        GTEST_SKIP() << "wine uses four mappings of Linux for each of 16,352 stacks; 65,530 are allowed";
    EXPECT_EQ(rt().set_max_procs(1024), procs());
    EXPECT_EQ(rt().run([] { return stats().procs; }), 1024U);
    EXPECT_EQ(rt().set_max_procs(2), 1024U);
}

TEST_P(MaxProcs, TooManyAreRefused) {
    EXPECT_THROW(rt().set_max_procs(1025), std::invalid_argument);
    EXPECT_EQ(rt().procs(), procs());
}

TEST_P(MaxProcs, ZeroMeansTheDefaultNumber) {
    runtime other;
    const unsigned usual = other.procs();
    rt().set_max_procs(7);
    rt().set_max_procs(0);
    EXPECT_EQ(rt().procs(), usual);
}

TEST_P(MaxProcs, RunMaxprocsSetsTheDefaultNumber) {
    change_environment("RUN_MAXPROCS", "3");
    rt().set_max_procs(0);
    change_environment("RUN_MAXPROCS", nullptr);
    EXPECT_EQ(rt().procs(), 3U);
}

TEST_P(MaxProcs, OneProcessorRunsOneGreenThreadAtATime) {
    rt().set_max_procs(1);
    const auto before = rt().stats();
    const int most = most_at_once(rt(), 6);
    const auto after = rt().stats();
    // A G that has lost its processor to another one runs beside that.
    if (after.retakes_burning == before.retakes_burning && after.retakes_blocked == before.retakes_blocked) {
        EXPECT_EQ(most, 1);
    }
}

TEST_P(MaxProcs, GsQueuedOnARemovedPRunElsewhere) {
    std::atomic<int> ran = 0;
    rt().set_max_procs(4);
    rt().run([&] {
        wait_group all;
        for (int who = 0; who < 8; ++who) {
            all.go([&] {
                wait_group inner;
                for (int i = 0; i < scaled(200); ++i) inner.go([&] { ++ran; });
                set_max_procs(1);
                set_max_procs(4);
                inner.wait();
            });
        }
        all.wait();
    });
    EXPECT_EQ(ran, 8 * scaled(200));
}

TEST_P(MaxProcs, SleepersOfARemovedPWake) {
    constexpr int sleepers = 200;
    std::atomic<int> awake = 0;
    rt().set_max_procs(8);
    rt().run([&] {
        wait_group all;
        const auto due = std::chrono::steady_clock::now() + 50ms;
        for (int i = 0; i < sleepers; ++i) {
            all.go([&] {
                sleep_until(due);
                if (std::chrono::steady_clock::now() >= due) ++awake;
            });
        }
        // A sleeper that starts only after the deadline does not park.
        eventually([&] { return stats().parks + static_cast<uint64_t>(awake) >= sleepers; });
        set_max_procs(1);
        all.wait();
    });
    EXPECT_EQ(awake, sleepers);
}

TEST_P(MaxProcs, TimersOfARemovedPFireElsewhere) {
    std::atomic<int> fired = 0;
    std::atomic<int> timed = 0;
    rt().set_max_procs(6);
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < 60; ++i) {
            all.go([&, i] {
                timer stopped = after_func(1h, [] {});
                timer soon(20ms + i * 100us);
                if (i % 3 == 0) set_max_procs(static_cast<unsigned>(1 + i % 5));
                soon.chan().recv();
                ++fired;
                if (stopped.stop()) ++fired;
                try {
                    with_timeout(5ms, [] { chan<int>().recv(); });
                } catch (const timed_out&) {
                    ++timed;
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(fired, 120);
    EXPECT_EQ(timed, 60);
}

TEST_P(MaxProcs, ReducesTheNumberWhileAllPsCompute) {
    rt().set_max_procs(4);
    std::atomic<bool> over = false;
    for (int i = 0; i < 4; ++i) {
        rt().go([&] {
            while (!over.load(std::memory_order_relaxed)) {}
        });
    }
    EXPECT_EQ(rt().set_max_procs(1), 4U);
    EXPECT_EQ(rt().stats().procs, 1U);
    over = true;
    rt().drain();
}

TEST_P(MaxProcs, PrioritiesAndPinsSurviveAChange) {
    std::atomic<int> wrong = 0;
    std::atomic<int> ran = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < 12; ++i) {
            const auto p = i % 3 == 0 ? priority::high : i % 3 == 1 ? priority::low : priority::normal;
            all.go(spawn_options{.priority = p}, [&, p, i] {
                for (int k = 0; k < 20; ++k) {
                    if (i % 4 == 0) {
                        const pin here;
                        const auto mine = std::this_thread::get_id();
                        set_max_procs(static_cast<unsigned>(1 + (i + k) % 4));
                        yield();
                        if (std::this_thread::get_id() != mine) ++wrong;
                    } else {
                        yield();
                    }
                    if (this_g::priority() != p) ++wrong;
                }
                ++ran;
            });
        }
        all.wait();
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(ran, 12);
}

// A surplus P is not retaken while its runtime stops.
TEST_P(MaxProcs, AStopDoesNotDelayACallerInAnotherRuntime) {
    for (int round = 0; round < scaled(10); ++round) {
        runtime other({.procs = 4});
        std::atomic<bool> over = false;
        std::atomic<int> computing = 0;
        for (int i = 0; i < 4; ++i) {
            other.go([&] {
                ++computing;
                while (!over) {}
            });
        }
        eventually([&] { return computing == 4; });
        std::atomic<bool> asks = false;
        std::thread changer([&] {
            rt().run([&] {
                asks = true;
                static_cast<void>(other.set_max_procs(1));
            });
        });
        eventually([&] { return asks.load(); });
        std::thread ender([&] {
            std::this_thread::sleep_for(3ms);  // so that normally the stop comes first
            over = true;
        });
        other.abandon();
        ender.join();
        changer.join();
    }
}

// Everything at once, and every message is accounted for. Most changes are from 1 to 8 and back.
TEST_P(MaxProcs, ChangingContinuallyLosesNothing) {
    std::atomic<bool> over = false;
    std::atomic<long> sent = 0;
    std::atomic<long> received = 0;
    std::atomic<int> early = 0;
    std::atomic<int> changes_made = 0;
    std::thread changes([&] {
        constexpr unsigned numbers[] = {1, 8, 1, 8, 1, 8, 3, 5, 1, 2, 64, 8};
        for (std::size_t i = 0; !over; ++i) {
            rt().set_max_procs(numbers[i % std::size(numbers)]);
            ++changes_made;
            std::this_thread::sleep_for(1ms);
        }
    });
    rt().run([&] {
        const chan<int> c(16);
        wait_group writers;
        wait_group readers;
        for (int i = 0; i < 6; ++i) {
            readers.go([&] {
                for (const int v : c) received += v;
            });
            writers.go([&] {
                while (!over) {
                    c.send(1);
                    ++sent;
                }
            });
            writers.go([&] {
                while (!over) {
                    const auto due = std::chrono::steady_clock::now() + 1ms;
                    sleep_until(due);
                    if (std::chrono::steady_clock::now() < due) ++early;
                }
            });
        }
        writers.go([&] {
            while (!over) {
                compute_for(3ms);
                yield();
            }
        });
        writers.go([&] {
            while (!over) blocking([] { std::this_thread::sleep_for(1ms); });
        });
        sleep_for(storm_time());
        over = true;
        writers.wait();
        c.close();
        readers.wait();
    });
    changes.join();
    EXPECT_GT(sent, 0);
    EXPECT_EQ(received, sent);
    EXPECT_EQ(early, 0);
    RecordProperty("changes", changes_made);
    RecordProperty("messages", std::to_string(sent));
}

TEST_P(MaxProcs, ARuntimeMayStopDuringAChange) {
    for (int round = 0; round < scaled(20); ++round) {
        runtime other({.procs = procs()});
        for (int i = 0; i < 8; ++i) {
            other.go([] {
                for (unsigned k = 1;; k = k % 4 + 1) set_max_procs(k);
            });
        }
        eventually([&] { return other.stats().switches > 20; });
        other.abandon();
    }
}

// Without retakes, one P means one green thread at a time, so unguarded counters lose no counts.
TEST(OneProcessorWithoutRetakes, RunsGreenThreadsOneAtATime) {
    runtime rt({.procs = 1, .retake = false, .slice = std::chrono::microseconds(100)});
    std::atomic<int> running = 0;
    int most = 0;
    rt.run([&] {
        wait_group all;
        for (int i = 0; i < 4; ++i) {
            all.go([&] {
                for (int turn = 0; turn < 20; ++turn) {
                    most = std::max(most, ++running);
                    compute_for(std::chrono::microseconds(300));
                    --running;
                    weft::yield();
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace weft::test
