// scheduling_test.cc: which G runs when: progress, fairness, order, and that no processor idles
// while work waits.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
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
using std::chrono::steady_clock;

using Scheduling = procs_test;
WEFT_SWEEP(Scheduling);

// Only a single processor guarantees an order.
class OneProcessor : private calm, public procs_test {};

WEFT_SWEEP_OVER(OneProcessor, 1U);

TEST_P(Scheduling, YieldLetsOthersProgress) {
    const int turns = rt().run([] {
        std::atomic<bool> stop = false;
        std::atomic<int> others_turns = 0;
        wait_group both;
        both.go([&] {
            while (!stop) weft::yield();
        });
        both.go([&] {
            for (int i = 0; i < 1000; ++i) {
                ++others_turns;
                weft::yield();
            }
            stop = true;
        });
        both.wait();
        return others_turns.load();
    });
    EXPECT_EQ(turns, 1000);
}

TEST_P(Scheduling, YieldOfALoneGReturnsFalse) {
    EXPECT_FALSE(rt().run([] { return weft::yield(); }));  // alone
}

// This includes those for which the caller's own queue has no room.
TEST_P(OneProcessor, YieldLetsThousandsOfOthersRunFirst) {
    rt().run([] {
        constexpr int count = 4000;
        std::atomic<int> ran = 0;
        for (int i = 0; i < count; ++i) weft::go([&] { ++ran; });
        int yields = 0;
        for (; ran != count && yields < count; ++yields) EXPECT_TRUE(weft::yield());
        EXPECT_LE(yields, count / 64);  // a batch comes first each time
        EXPECT_EQ(ran, count);
    });
}

TEST_P(OneProcessor, YieldReturnsTrueIfAnotherGRan) {
    const bool other_ran = rt().run([] {
        bool ran = false;
        go([&ran] { ran = true; });
        return weft::yield() && ran;
    });
    EXPECT_TRUE(other_ran);
}

// The newest G takes run_next. The one it displaces goes to the end of the queue.
TEST_P(OneProcessor, TheNewestRunsFirstAndTheOthersInOrder) {
    const std::vector<int> order = rt().run([] {
        std::vector<int> ran;
        wait_group all;
        for (int i = 0; i < 100; ++i) {
            all.go([&ran, i] { ran.push_back(i); });
        }
        all.wait();
        return ran;
    });
    std::vector<int> expected = {99};
    for (int i = 0; i < 99; ++i) expected.push_back(i);
    EXPECT_EQ(order, expected);
}

TEST_P(OneProcessor, YieldersRunInRoundRobin) {
    constexpr std::size_t yielders = 5;
    const std::vector<std::size_t> order = rt().run([] {
        std::vector<std::size_t> turns;
        wait_group all;
        for (std::size_t i = 0; i < yielders; ++i) {
            all.go([&turns, i] {
                for (int round = 0; round < 100; ++round) {
                    turns.push_back(i);
                    weft::yield();
                }
            });
        }
        all.wait();
        return turns;
    });
    ASSERT_EQ(order.size(), yielders * 100);
    for (std::size_t i = yielders; i < order.size(); ++i) ASSERT_EQ(order[i], order[i - yielders]) << "turn " << i;
}

TEST_P(OneProcessor, AWokenGreenThreadRunsNext) {
    const std::vector<char> order = rt().run([] {
        std::vector<char> ran;
        const chan<int> c;
        wait_group all;
        all.go([&] {
            c.recv();
            ran.push_back('w');
        });
        weft::yield();  // it waits now
        all.go([&ran] { ran.push_back('q'); });
        c.send(1);
        all.wait();
        return ran;
    });
    EXPECT_EQ(order, (std::vector<char>{'w', 'q'}));
}

// Starts one green thread for each processor. Each waits busily for the previous one, so all must
// run at once.
void run_all_at_once(unsigned procs) {
    std::atomic<unsigned> turn = 0;
    wait_group all;
    constexpr unsigned laps = 3;
    for (unsigned p = 0; p < procs; ++p) {
        all.go([&turn, p, procs] {
            for (unsigned lap = 0; lap < laps; ++lap) {
                busily([&] { return turn == lap * procs + p; });
                ++turn;
            }
        });
    }
    all.wait();
}

TEST_P(Scheduling, EveryProcessorRunsWhenThereIsWorkForEach) {
    const int tries = scaled(10);
    for (int i = 0; i < tries; ++i) rt().run([this] { run_all_at_once(procs()); });
}

TEST_P(Scheduling, EveryProcessorRunsAgainAfterAPause) {
    const int tries = scaled(10);
    for (int i = 0; i < tries; ++i) {
        rt().run([this] {
            sleep_for(2ms);  // no work anywhere: the Ms go idle
            run_all_at_once(procs());
        });
    }
}

// Just after a burst of work for all, when the Ms are about to go idle.
TEST_P(Scheduling, EveryProcessorRunsAgainWhileGoingIdle) {
    const int tries = scaled(10);
    rt().run([this, tries] {
        for (int i = 0; i < tries; ++i) {
            wait_group burst;
            for (unsigned p = 0; p < procs(); ++p) burst.go([] { compute_for(20us); });
            burst.wait();
            run_all_at_once(procs());
        }
    });
}

TEST_P(Scheduling, WorkQueuedBehindAComputationRunsElsewhere) {
    if (procs() < 2) GTEST_SKIP() << "needs a second processor";
    const int tries = scaled(200);
    rt().run([tries] {
        for (int i = 0; i < tries; ++i) {
            std::atomic<bool> ran = false;
            wait_group other;
            other.go([&ran] { ran = true; });
            busily([&] { return ran.load(); });  // no call into the runtime: another M has to steal it
            other.wait();
        }
    });
}

TEST_P(Scheduling, WorkOfAPlainThreadRunsBetweenYielders) {
    std::atomic<bool> stop = false;
    const unsigned yielders = 2 * procs();
    for (unsigned i = 0; i < yielders; ++i) {
        rt().go([&stop] {
            while (!stop) weft::yield();
        });
    }
    rt().go([&stop] { stop = true; });  // otherwise it would never end
    rt().drain();
}

// Two green threads that wake each other always run next. The queue behind them must still move.
TEST_P(Scheduling, APairThatWakesEachOtherDoesNotStarveTheQueue) {
    rt().run([this] {
        std::atomic<bool> stop = false;
        wait_group all;
        for (unsigned pair = 0; pair < procs(); ++pair) {
            const chan<int> ping;
            const chan<int> pong;
            all.go([=, &stop] {
                while (!stop) {
                    ping.send(1);
                    pong.recv();
                }
                ping.close();
            });
            all.go([=] {
                for (const int v : ping) pong.send(v);
            });
        }
        for (int i = 0; i < 100; ++i) weft::yield();  // from the end of the queue to its front, a hundred times
        stop = true;
        all.wait();
    });
}

// Chains of hand-offs: each green thread computes for part of a time slice, and makes the next one
// ready.
class ChainOfHandOffs : private calm, public ::testing::Test {
protected:
    static constexpr auto slice = 4ms;
    static constexpr auto piece = 1ms;

    // The median number of pieces that the chain runs while the third G is queued.
    template <typename StartChain>
    int pieces_before_the_third(StartChain&& start_chain) {
        runtime rt({.procs = 1, .slice = slice});
        return rt.run([&] {
            wait_group all;
            start_chain(all);
            std::vector<int> waited;
            while (waited.size() < 21) {
                const int before = pieces_;
                weft::yield();
                waited.push_back(pieces_ - before);
            }
            stop_ = true;
            all.wait();
            std::ranges::sort(waited);
            return waited[waited.size() / 2];
        });
    }

    void compute_piece() {
        ++pieces_;
        compute_for(piece);
    }

    // A slice has room for four. On a loaded machine the monitor is late, and a green thread asked
    // to yield computes on until its piece ends.
    static constexpr int most_pieces = 12;

    std::atomic<int> pieces_{0};
    std::atomic<bool> stop_{false};
};

TEST_F(ChainOfHandOffs, APairOnChannelsEndsWithItsTimeSlice) {
    const chan<int> ping;
    const chan<int> pong;
    const int pieces = pieces_before_the_third([&](wait_group& all) {
        all.go([&] {
            while (!stop_) {
                compute_piece();
                ping.send(1);
                pong.recv();
            }
            ping.close();
        });
        all.go([&] {
            for (const int v : ping) {
                compute_piece();
                pong.send(v);
            }
        });
    });
    EXPECT_LE(pieces, most_pieces);
}

TEST_F(ChainOfHandOffs, AChainOfStartsEndsWithItsTimeSlice) {
    std::function<void()> run;
    const int pieces = pieces_before_the_third([&](wait_group& all) {
        run = [&] {
            compute_piece();
            if (!stop_) all.go(run);
        };
        all.go(run);
    });
    EXPECT_LE(pieces, most_pieces);
}

TEST_F(ChainOfHandOffs, AChainOfStartingYieldersEndsWithItsTimeSlice) {
    std::function<void()> run;
    const int pieces = pieces_before_the_third([&](wait_group& all) {
        run = [&] {
            compute_piece();
            if (!stop_) all.go(run);
            weft::yield();
        };
        all.go(run);
    });
    EXPECT_LE(pieces, most_pieces);
}

// Each piece ends in a wait, so the timer is noticed. The G it wakes is queued behind the chain.
TEST_F(ChainOfHandOffs, DoesNotStarveASleeper) {
    runtime rt({.procs = 1, .slice = slice});
    const int late = rt.run([&] {
        std::array<event, 3> turn;
        wait_group all;
        for (std::size_t i = 0; i < turn.size(); ++i) {
            all.go([&, i] {
                while (!stop_) {
                    turn[i].wait();
                    turn[i].reset();
                    if (!stop_) compute_piece();
                    turn[(i + 1) % turn.size()].set();
                }
            });
        }
        turn[0].set();
        std::vector<int> waited;
        while (waited.size() < 21) {
            const int before = pieces_;
            weft::sleep_for(piece);
            waited.push_back(pieces_ - before);
        }
        stop_ = true;
        for (event& e : turn) e.set();
        all.wait();
        std::ranges::sort(waited);
        return waited[waited.size() / 2];
    });
    EXPECT_LE(late, most_pieces);
}

// A G that a plain thread starts waits in the global queue.
TEST_F(ChainOfHandOffs, DoesNotStarveAGStartedByAPlainThread) {
    runtime rt({.procs = 1, .slice = slice});
    const int pieces = rt.run([&] {
        std::function<void()> run;
        wait_group all;
        run = [&] {
            compute_piece();
            if (!stop_) all.go(run);
        };
        all.go(run);
        std::vector<int> waited;
        while (waited.size() < 11) {
            event came;
            int before = 0;
            std::thread plain([&] {
                before = pieces_;
                rt.go([&] { came.set(); });
            });
            came.wait();
            waited.push_back(pieces_ - before);
            plain.join();
        }
        stop_ = true;
        all.wait();
        std::ranges::sort(waited);
        return waited[waited.size() / 2];
    });
    EXPECT_LE(pieces, 2 * most_pieces) << "its turn, and then that of who waits for it";
}

// A pair that computes a millisecond per turn does not keep a pair with short turns from running.
TEST_P(OneProcessor, AHeavyPairDoesNotStarveALightPair) {
    std::atomic<int> heavy = 0;
    std::atomic<int> light = 0;
    rt().run([&] {
        std::atomic<bool> stop = false;
        wait_group all;
        const auto start_pair = [&](std::atomic<int>& turns, std::chrono::microseconds work) {
            const chan<int> baton;
            for (int member = 0; member < 2; ++member) {
                all.go([=, &turns, &stop] {
                    while (baton.recv()) {
                        compute_for(work);
                        ++turns;
                        if (stop) {
                            baton.close();
                        } else {
                            baton.send(1);
                        }
                    }
                });
            }
            baton.send(1);
        };
        start_pair(heavy, 1000us);
        start_pair(light, 1us);
        sleep_for(300ms);
        stop = true;
        all.wait();
    });
    EXPECT_GT(heavy, 0);
    EXPECT_GT(light, heavy / 20);
}

TEST_P(Scheduling, AComputingYielderStarvesNoOther) {
    rt().run([this] {
        std::atomic<bool> stop = false;
        wait_group all;
        for (unsigned i = 0; i < procs(); ++i) {
            all.go([&stop] {
                while (!stop) {
                    compute_for(100us);
                    weft::yield();
                }
            });
        }
        const chan<int> c;
        all.go([c] {
            for (int i = 0; i < 20; ++i) c.send(i);
            c.close();
        });
        int received = 0;
        for (const int v : c) received += v;
        sleep_for(1ms);
        stop = true;
        all.wait();
        EXPECT_EQ(received, 190);
    });
}

TEST_P(Scheduling, CheckpointYieldsAtTheEndOfTheTimeSlice) {
    rt().run([this] {
        std::atomic<bool> stop = false;
        wait_group all;
        all.go([&stop] { stop = true; });
        for (unsigned i = 0; i < procs(); ++i) {  // these run first, and on one processor for ever
            all.go([&stop] {
                while (!stop) checkpoint();
            });
        }
        all.wait();
    });
}

TEST_P(Scheduling, ManyBarriersInARowNeverHang) {
    constexpr int parties = 20;
    const int rounds = scaled(500);
    const int total = rt().run([rounds] {
        std::atomic<int> arrivals = 0;
        const chan<int> arrived;
        std::vector<chan<int>> go_on(parties);
        wait_group all;
        for (const chan<int>& mine : go_on) {
            all.go([&arrivals, arrived, mine, rounds] {
                for (int r = 0; r < rounds; ++r) {
                    ++arrivals;
                    arrived.send(r);
                    mine.recv();
                }
            });
        }
        for (int r = 0; r < rounds; ++r) {
            for (int i = 0; i < parties; ++i) arrived.recv();
            for (const chan<int>& one : go_on) one.send(r);
        }
        all.wait();
        return arrivals.load();
    });
    EXPECT_EQ(total, rounds * parties);
}

TEST(ManyProcessors, ARuntimeWith1024ProcessorsStartsAndRuns) {
    if (runs_in_wine())
        GTEST_SKIP() << "wine uses four mappings of Linux for each of 16,384 stacks; 65,530 are allowed";
    runtime rt({.procs = 1024});
    EXPECT_EQ(rt.procs(), 1024U);
    std::atomic<int> ran = 0;
    rt.run([&] {
        wait_group all;
        for (int i = 0; i < 5000; ++i) {
            all.go([&ran] { ++ran; });
        }
        all.wait();
    });
    EXPECT_EQ(ran, 5000);
}

TEST_P(Scheduling, TheRuntimeHasTheRequestedProcessors) {
    EXPECT_EQ(rt().procs(), procs());
    EXPECT_EQ(rt().stats().procs, procs());
}

}  // namespace
}  // namespace weft::test
