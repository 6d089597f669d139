// schedule_test.cc: what a P runs next: the order of schedule.h, with its numbers.
//
// In each test one G keeps its P busy while it prepares, and then waits: the scheduler decides.
#include "sched/schedule.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "sched/current.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/scale.h"

namespace weft::detail {
namespace {

using test::busily;

P* my_p() { return current_m()->p; }

scheduler& my_scheduler() { return *current_m()->home; }

// Runs f in a plain thread while the calling G keeps its P.
template <typename F>
void outside(F&& f) {
    std::atomic<bool> over{false};
    std::thread thread([&] {
        f();
        over.store(true);
    });
    busily([&] { return over.load(); });
    thread.join();
}

std::vector<int> numbers(int first, int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), first);
    return all;
}

class chronicle {
public:
    void add(int who) {
        const std::lock_guard hold(mutex_);
        order_.push_back(who);
    }

    [[nodiscard]] std::vector<int> all() {
        const std::lock_guard hold(mutex_);
        return order_;
    }

    [[nodiscard]] int position(int who) {
        const std::lock_guard hold(mutex_);
        for (std::size_t i = 0; i < order_.size(); ++i) {
            if (order_[i] == who) return static_cast<int>(i);
        }
        return -1;
    }

private:
    std::mutex mutex_;
    std::vector<int> order_;  // guarded by mutex_
};

class Schedule : public ::testing::Test {
protected:
    void start(int first, int count = 1) {
        for (int i = first; i < first + count; ++i) all_.go([this, i] { ran_.add(i); });
    }

    void start_outside(int first, int count = 1) {
        outside([&] {
            for (int i = first; i < first + count; ++i) {
                all_.add();
                rt_.go([this, i] {
                    ran_.add(i);
                    all_.done();
                });
            }
        });
    }

    // The next look at the global queue is a whole round away.
    static void begin_round() {
        my_p()->restart_ticks();
        my_p()->begin_slice();
    }

    // A busy G is not retaken, and its slice does not end.
    runtime rt_{{.procs = 1, .retake = false, .slice = std::chrono::seconds(10)}};
    chronicle ran_;
    wait_group all_;
};

TEST_F(Schedule, TheNewestRunsNextAndTheOthersInTheirOrder) {
    rt_.run([&] {
        begin_round();
        start(0, 6);
        EXPECT_NE(my_p()->run_next.load(), nullptr);
        EXPECT_EQ(my_p()->queue.size(), 5U) << "who was displaced from run_next went to the ring";
        all_.wait();
    });
    EXPECT_EQ(ran_.all(), (std::vector{5, 0, 1, 2, 3, 4}));
}

TEST_F(Schedule, AReadiedGRunsNextAndTheDisplacedGLast) {
    rt_.run([&] {
        const chan<int> gate;
        all_.go([&] {
            gate.recv();
            ran_.add(9);
        });
        yield();
        begin_round();
        start(0, 2);
        gate.send(1);
        EXPECT_EQ(my_p()->queue.size(), 2U);
        all_.wait();
    });
    EXPECT_EQ(ran_.all(), (std::vector{9, 0, 1}));
}

TEST_F(Schedule, TheRingIsFifoUpToItsCapacity) {
    constexpr int n = run_queue::capacity + 1;
    rt_.run([&] {
        start(0, n);
        EXPECT_EQ(my_p()->queue.size(), run_queue::capacity);
        begin_round();
        all_.wait();
    });
    std::vector<int> expected = numbers(0, n - 1);
    expected.insert(expected.begin(), n - 1);
    EXPECT_EQ(ran_.all(), expected);
    EXPECT_EQ(rt_.stats().overflows, 0U);
}

// ---- Yield.

TEST_F(Schedule, YieldQueuesBehindTheOwnRing) {
    rt_.run([&] {
        begin_round();
        all_.go([&] {
            ran_.add(1);
            start(3);
        });
        start(2);
        EXPECT_TRUE(yield());
        ran_.add(9);
        all_.wait();
    });
    EXPECT_EQ(ran_.all(), (std::vector{2, 1, 3, 9}));
}

TEST_F(Schedule, YieldOfALoneGReturnsFalse) {
    rt_.run([] {
        for (int i = 0; i < 200; ++i) EXPECT_FALSE(yield()) << i;
    });
}

TEST_F(Schedule, YieldReturnsTrueIffAnotherGRan) {
    rt_.run([&] {
        for (int i = 0; i < 200; ++i) {
            start(i);
            EXPECT_TRUE(yield()) << i;
            EXPECT_EQ(ran_.position(i), i);
            EXPECT_FALSE(yield()) << i;
        }
    });
}

TEST_F(Schedule, YieldReturnsFalseWhileTheOthersSleep) {
    rt_.run([&] {
        const chan<int> never_sent;
        all_.go([&] { (void)never_sent.recv_for(std::chrono::hours(1)); });
        yield();
        for (int i = 0; i < 200; ++i) EXPECT_FALSE(yield()) << i;
        never_sent.close();
        all_.wait();
    });
}

TEST_F(Schedule, TwoYieldersAlternate) {
    rt_.run([&] {
        for (const int who : {1, 2}) {
            all_.go([this, who] {
                for (int i = 0; i < 50; ++i) {
                    ran_.add(who);
                    yield();
                }
            });
        }
        all_.wait();
    });
    const std::vector<int> order = ran_.all();
    ASSERT_EQ(order.size(), 100U);
    for (std::size_t i = 1; i < order.size(); ++i) EXPECT_NE(order[i], order[i - 1]) << i;
}

// ---- Fairness.

TEST_F(Schedule, EverySixtyFirstTickChecksTheGlobalQueue) {
    rt_.run([&] {
        start(0, 250);
        start_outside(1000, 3);
        EXPECT_EQ(my_scheduler().global.size(), 3U);
        begin_round();
        all_.wait();
    });
    EXPECT_EQ(ran_.position(1000), 60);
    EXPECT_EQ(ran_.position(1001), 60 + 61);
    EXPECT_EQ(ran_.position(1002), 60 + 2 * 61);
}

// Other passes through g0 must not delay that look.
TEST_F(Schedule, ContinualTimersDoNotStarveTheGlobalQueue) {
    std::atomic<bool> over{false};
    std::atomic<bool> arrived{false};
    rt_.run([&] {
        all_.go([&] {
            while (!over.load()) sleep_for(std::chrono::microseconds(20));
        });
        for (int i = 0; i < 2; ++i) {
            all_.go([&] {
                while (!over.load()) {
                    test::compute_for(std::chrono::microseconds(5));
                    yield();
                }
            });
        }
        outside([&] { rt_.go([&] { arrived.store(true); }); });
        test::eventually([&] { return arrived.load(); });
        over.store(true);
        all_.wait();
    });
}

TEST_F(Schedule, AGFromRunNextInheritsTheTimeSlice) {
    std::vector<uint64_t> slices;
    rt_.run([&] {
        const chan<int> ping;
        const chan<int> pong;
        all_.go([&] {
            while (ping.recv()) {
                slices.push_back(my_p()->slice());
                pong.send(1);
            }
        });
        yield();
        begin_round();
        const uint64_t mine = my_p()->slice();
        for (int i = 0; i < 100; ++i) {
            ping.send(1);
            pong.recv();
            slices.push_back(my_p()->slice());
        }
        EXPECT_EQ(slices, std::vector(200, mine));
        ping.close();
        all_.wait();
    });
}

TEST_F(Schedule, AGFromTheRingBeginsATimeSlice) {
    rt_.run([&] {
        const uint64_t mine = my_p()->slice();
        uint64_t others = mine;
        all_.go([&] {
            all_.go([&] { others = my_p()->slice(); });
            all_.go([] {});  // moves the first one to the ring
        });
        all_.wait();
        EXPECT_NE(others, mine);
    });
}

// S1 works without the monitor.
TEST_F(Schedule, AtTheEndOfATimeSliceTheRingRunsBeforeRunNext) {
    std::atomic<bool> third_ran{false};
    runtime rt({.procs = 1, .retake = false, .slice = std::chrono::microseconds(100)});
    rt.run([&] {
        const chan<int> ping;
        const chan<int> pong;
        all_.go([&] {
            while (ping.recv()) pong.send(1);
        });
        yield();
        all_.go([&] { third_ran = true; });
        while (!third_ran) {
            ping.send(1);
            pong.recv();
        }
        ping.close();
        all_.wait();
    });
}

// Runs for three slices of 100 us.
void run_chain(wait_group& all) {
    const chan<int> ping;
    const chan<int> pong;
    all.go([=] {
        while (ping.recv()) pong.send(1);
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
    while (std::chrono::steady_clock::now() < end) {
        ping.send(1);
        pong.recv();
    }
    ping.close();
}

// S3. Without it all chains begin before the ring is served. With it one begins at each 61st
// schedule of a slice: at most 6 were seen; a faster machine begins more.
TEST_F(Schedule, ChainsInTheGlobalQueueDoNotStarveTheRing) {
    constexpr int chains = 200;
    std::atomic<int> begun{0};
    int begun_before_the_ring = -1;
    runtime rt({.procs = 1, .retake = false, .slice = std::chrono::microseconds(100)});
    rt.run([&] {
        std::thread([&] {
            for (int i = 0; i < chains; ++i) {
                all_.add();
                rt.go([&] {
                    ++begun;
                    run_chain(all_);
                    all_.done();
                });
            }
        }).join();
        all_.go([&] { begun_before_the_ring = begun; });
        run_chain(all_);
        all_.wait();
    });
    EXPECT_GE(begun_before_the_ring, 0);
    EXPECT_LE(begun_before_the_ring, chains / 2);
}

TEST_F(Schedule, TheEndOfATimeSlicePutsRunNextBehindTheRing) {
    rt_.run([&] {
        begin_round();
        start(0, 3);
        end_slice(current_m());
        EXPECT_EQ(my_p()->run_next.load(), nullptr);
        all_.wait();
    });
    EXPECT_EQ(ran_.all(), (std::vector{0, 1, 2}));
}

TEST_F(Schedule, HandOffsWithAnEmptyRingAreNotBounded) {
    rt_.run([&] {
        const chan<int> ping;
        const chan<int> pong;
        all_.go([&] {
            while (ping.recv()) pong.send(1);
        });
        for (int i = 0; i < 1000; ++i) {
            ping.send(1);
            pong.recv();
        }
        ping.close();
        all_.wait();
    });
}

// ---- The global queue.

TEST_F(Schedule, AFullRingSpillsHalfOfItselfAndTheNewcomer) {
    constexpr int full = run_queue::capacity + 1;
    rt_.run([&] {
        start(0, full);
        ASSERT_EQ(my_scheduler().global.size(), 0U);
        start(full);
        EXPECT_EQ(my_scheduler().global.size(), 129U);
        EXPECT_EQ(my_p()->queue.size(), 128U);
        EXPECT_EQ(stats().overflows, 1U);
        // The older half, and then the G that was displaced from run_next.
        fifo<G> spilled = my_scheduler().global.pop(1000);
        fifo<G> seen;
        std::vector<uint64_t> ids;
        while (G* g = spilled.pop_front()) {
            ids.push_back(g->id);
            seen.push_back(g);
        }
        std::vector<uint64_t> expected(129);
        std::iota(expected.begin(), expected.end(), ids.front());
        expected.back() = ids.front() + full - 1;
        EXPECT_EQ(ids, expected);
        my_scheduler().global.push(seen);
        all_.wait();
    });
    std::vector<int> order = ran_.all();
    EXPECT_EQ(order.front(), full);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, numbers(0, full + 1)) << "each ran once";
}

TEST_F(Schedule, InjectedGsRunBeforeGlobalOnesOfPlainThreads) {
    const chan<int> gate;
    rt_.run([&] {
        all_.go([&] {
            gate.recv();
            ran_.add(2);
        });
        yield();
        start_outside(0, 2);
        outside([&] { gate.send(1); });
        start_outside(3, 2);
        EXPECT_EQ(my_scheduler().global.size(), 4U);
        EXPECT_EQ(my_scheduler().injected.size(), 1U);
        EXPECT_FALSE(my_p()->has_work());
        all_.wait();
    });
    EXPECT_EQ(ran_.all(), (std::vector<int>{2, 0, 1, 3, 4}));
}

// What the first G of a batch sees of that batch and of the global queue.
struct share {
    uint32_t in_ring;
    uint32_t left;
    friend bool operator==(const share&, const share&) = default;
};

// Queues n external Gs while all Ps are busy; then one P runs out of work.
share first_share(unsigned procs, int n) {
    runtime rt({.procs = procs, .retake = false});  // with retakes, busy Gs give way on a slow machine
    return rt.run([&] {
        std::atomic<unsigned> busy{1};
        std::atomic<bool> seen_it{false};
        std::atomic<int> arrivals{0};
        share found{};
        wait_group others;
        wait_group all;
        for (unsigned i = 1; i < procs; ++i) {
            others.go([&] {
                busy.fetch_add(1);
                busily([&] { return seen_it.load(); });
            });
        }
        busily([&] { return busy.load() == procs; });
        outside([&] {
            for (int i = 0; i < n; ++i) {
                all.add();
                rt.go([&] {
                    if (arrivals.fetch_add(1) == 0) {
                        found = {my_p()->queue.size(), my_scheduler().global.size()};
                        seen_it.store(true);
                    }
                    all.done();
                });
            }
        });
        EXPECT_EQ(my_scheduler().global.size(), static_cast<uint32_t>(n));
        my_p()->restart_ticks();
        all.wait();
        others.wait();
        return found;
    });
}

TEST(ScheduleGlobal, AnEmptyPTakesItsShareAndAtMost128) {
    EXPECT_EQ(first_share(1, 1), (share{0, 0}));
    EXPECT_EQ(first_share(1, 2), (share{1, 0}));
    EXPECT_EQ(first_share(1, 10), (share{9, 0}));
    EXPECT_EQ(first_share(1, 128), (share{127, 0}));
    EXPECT_EQ(first_share(1, 129), (share{127, 1}));
    EXPECT_EQ(first_share(1, 300), (share{127, 172}));
}

TEST(ScheduleGlobal, WithFourPsTheShareIsAQuarterPlusOne) {
    EXPECT_EQ(first_share(4, 1), (share{0, 0}));
    EXPECT_EQ(first_share(4, 3), (share{0, 2}));
    EXPECT_EQ(first_share(4, 4), (share{1, 2}));
    EXPECT_EQ(first_share(4, 40), (share{10, 29}));
    EXPECT_EQ(first_share(4, 1000), (share{127, 872}));
}

// ---- Timers.

// All sleepers are asleep before that.
constexpr std::chrono::milliseconds long_enough(100);

TEST_F(Schedule, ADueSleeperRunsBeforeTheGlobalQueue) {
    rt_.run([&] {
        const auto due = std::chrono::steady_clock::now() + long_enough;
        all_.go([&] {
            sleep_until(due);
            ran_.add(1);
        });
        yield();
        start_outside(2);
        begin_round();
        busily([&] { return std::chrono::steady_clock::now() > due; });
        all_.wait();
    });
    EXPECT_EQ(ran_.all(), (std::vector{1, 2}));
}

TEST_F(Schedule, ADueSleeperRunsAfterTheRing) {
    rt_.run([&] {
        const auto due = std::chrono::steady_clock::now() + long_enough;
        all_.go([&] {
            sleep_until(due);
            ran_.add(4);
        });
        yield();
        begin_round();
        start(1, 3);
        busily([&] { return std::chrono::steady_clock::now() > due; });
        all_.wait();
    });
    EXPECT_EQ(ran_.all(), (std::vector{3, 1, 2, 4}));
}

TEST_F(Schedule, SleepersWithTheSameDeadlineWakeInTheOrderTheyFellAsleep) {
    rt_.run([&] {
        const auto due = std::chrono::steady_clock::now() + long_enough;
        for (int i = 0; i < 20; ++i) {
            all_.go([this, i, due] {
                sleep_until(due);
                ran_.add(i);
            });
            yield();
        }
        all_.wait();
    });
    EXPECT_EQ(ran_.all(), numbers(0, 20));
}

// ---- Stealing.

struct loot {
    uint32_t left;    // in the victim's ring
    uint32_t in_own;  // in the thief's
    uint64_t steals;
    int first;  // the first G on the thief's P
    bool run_next_is_left;
    friend bool operator==(const loot&, const loot&) = default;
};

// One of two Ps computes, with n Gs in its ring and one in run_next.
loot rob(int n) {
    const test::no_retakes undisturbed;  // else another M continues the victim's P beside the thief
    runtime rt({.procs = 2});
    return rt.run([&] {
        std::atomic<bool> other_runs{false};
        std::atomic<bool> laid_out{false};
        std::atomic<bool> robbed{false};
        std::atomic<bool> told{false};
        loot found{};
        P* victim = nullptr;
        uint64_t steals_before = 0;
        wait_group all;
        all.go([&] {
            other_runs.store(true);
            busily([&] { return laid_out.load(); });
        });
        busily([&] { return other_runs.load(); });
        victim = my_p();
        for (int i = 0; i <= n; ++i) {
            all.go([&, i] {
                if (robbed.exchange(true)) return;
                found = {victim->queue.size(), my_p()->queue.size(), stats().steals - steals_before, i,
                         victim->run_next.load() != nullptr};
                told.store(true);
            });
        }
        steals_before = stats().steals;
        laid_out.store(true);
        busily([&] { return told.load(); });
        all.wait();
        return found;
    });
}

TEST(ScheduleSteal, AnEmptyPStealsTheOlderHalfRoundedUp) {
    EXPECT_EQ(rob(1), (loot{0, 0, 1, 0, true}));
    EXPECT_EQ(rob(2), (loot{1, 0, 1, 0, true}));
    EXPECT_EQ(rob(8), (loot{4, 3, 4, 0, true}));
    EXPECT_EQ(rob(9), (loot{4, 4, 5, 0, true}));
    EXPECT_EQ(rob(256), (loot{128, 127, 128, 0, true}));
}

TEST(ScheduleSteal, RunNextOfABusyPIsEventuallyStolen) {
    runtime rt({.procs = 2});
    rt.run([&] {
        for (int i = 0; i < test::scaled(100); ++i) {
            std::atomic<bool> ran{false};
            go([&] { ran.store(true); });
            busily([&] { return ran.load(); });
        }
    });
}

TEST(ScheduleSteal, ATimerOfABusyPFiresOnAnotherP) {
    runtime rt({.procs = 2});
    rt.run([&] {
        std::atomic<bool> ran{false};
        std::atomic<bool> asleep{false};
        go([&] {
            asleep.store(true);
            sleep_for(std::chrono::milliseconds(1));
            ran.store(true);
        });
        yield();
        busily([&] { return asleep.load() && ran.load(); });
    });
}

}  // namespace
}  // namespace weft::detail
