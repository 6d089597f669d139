// wait_group_test.cc: waiting for a number of tasks to finish.

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tracked.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using WaitGroup = procs_test;
WEFT_SWEEP(WaitGroup);

static_assert(!std::is_copy_constructible_v<wait_group> && !std::is_move_constructible_v<wait_group>);

TEST_P(WaitGroup, WaitReturnsWhenEveryPieceIsDone) {
    const int early = rt().run([] {
        int wrong = 0;
        for (int round = 0; round < 8; ++round) {
            wait_group all;
            std::atomic<int> finished = 0;
            all.add(16);
            for (int i = 0; i < 16; ++i) {
                go([&] {
                    weft::yield();
                    ++finished;
                    all.done();
                });
            }
            all.wait();
            wrong += finished != 16;
        }
        return wrong;
    });
    EXPECT_EQ(early, 0);
}

TEST_P(WaitGroup, WaitAtZeroReturnsAtOnce) {
    wait_group none;
    none.wait();
    rt().run([&] {
        none.wait();
        none.add(3);
        none.add(-3);
        none.wait();
    });
}

TEST_P(WaitGroup, CanBeUsedAgainAfterWait) {
    const int rounds = scaled(1000);
    const int wrong = rt().run([rounds] {
        int mistakes = 0;
        wait_group all;
        for (int round = 0; round < rounds; ++round) {
            std::atomic<int> finished = 0;
            for (int i = 0; i < 3; ++i) {
                all.go([&] { ++finished; });
            }
            all.wait();
            mistakes += finished != 3;
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(WaitGroup, WorkMayAddWorkWhileItRuns) {
    const int finished = rt().run([] {
        std::atomic<int> done = 0;
        wait_group all;
        for (int i = 0; i < 10; ++i) {
            all.go([&] {
                for (int k = 0; k < 10; ++k) {
                    all.go([&] {
                        weft::yield();
                        ++done;
                    });
                }
                ++done;
            });
        }
        all.wait();
        return done.load();
    });
    EXPECT_EQ(finished, 110);
}

TEST_P(WaitGroup, EveryWaiterIsWoken) {
    wait_group work;
    work.add();
    std::atomic<int> woken = 0;
    std::vector<std::thread> threads;
    park(50, [&] {
        for (int i = 0; i < 50; ++i) {
            rt().go([&] { work.wait(), ++woken; });
        }
    });
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] { work.wait(), ++woken; });
    }
    EXPECT_EQ(woken, 0);
    work.done();
    for (std::thread& t : threads) t.join();
    rt().drain();
    EXPECT_EQ(woken, 53);
}

// The group lives in the waiter's frame. It is destroyed and overwritten as soon as wait() has
// returned, even if other threads are still leaving done().
TEST_P(WaitGroup, MayBeDestroyedRightAfterWait) {
    const int rounds = scaled(20'000);
    rt().run([rounds] {
        alignas(wait_group) std::byte memory[sizeof(wait_group)];
        for (int i = 0; i < rounds; ++i) {
            auto* all = ::new (memory) wait_group;
            all->add(2);
            go([all] { all->done(); });
            go([all] { all->done(); });
            all->wait();
            all->~wait_group();
            std::memset(memory, 0xa5, sizeof memory);
        }
    });
}

TEST_P(WaitGroup, MayBeDestroyedRightAfterAPlainThreadsWait) {
    const int rounds = scaled(3000);
    alignas(wait_group) std::byte memory[sizeof(wait_group)];
    for (int i = 0; i < rounds; ++i) {
        auto* all = ::new (memory) wait_group;
        all->add(2);
        rt().go([all] { all->done(); });
        rt().go([all] { all->done(); });
        all->wait();
        all->~wait_group();
        std::memset(memory, 0xa5, sizeof memory);
    }
}

TEST_P(WaitGroup, TheEndOfWorkSynchronizesWithWait) {
    const int rounds = scaled(2000);
    const int wrong = rt().run([rounds] {
        int mistakes = 0;
        for (int i = 0; i < rounds; ++i) {
            int a = 0;  // plain variables, written by others
            int b = 0;
            wait_group both;
            both.go([&] { a = i + 1; });
            both.go([&] { b = i + 2; });
            both.wait();
            mistakes += a != i + 1 || b != i + 2;
        }
        return mistakes;
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(WaitGroup, TheWorkIsDestroyedBeforeWaitReturns) {
    const int rounds = scaled(1000);
    const long left = rt().run([rounds] {
        const long before = tracked::alive();
        long most = 0;
        for (int i = 0; i < rounds; ++i) {
            wait_group all;
            all.go([t = tracked(i)] {});
            all.go([t = tracked(i)] { weft::yield(); });
            all.wait();
            most = std::max(most, tracked::alive() - before);
        }
        return most;
    });
    EXPECT_EQ(left, 0);
}

TEST_P(WaitGroup, WaitRethrowsTheExceptionOfTheWork) {
    rt().run([] {
        wait_group all;
        all.go([] { throw std::runtime_error("lost the thread"); });
        all.go([] { weft::yield(); });
        std::string what;
        try {
            all.wait();
        } catch (const std::runtime_error& e) {
            what = e.what();
        }
        EXPECT_EQ(what, "lost the thread");
        all.wait();  // once
        all.go([] {});
        all.wait();  // and the group works as usual
    });
}

TEST_P(WaitGroup, TheFirstOfManyExceptionsIsKept) {
    const int n = scaled(500);
    const int thrown = rt().run([n] {
        std::atomic<int> finished = 0;
        wait_group all;
        for (int i = 0; i < n; ++i) {
            all.go([&finished, i] {
                ++finished;
                if (i % 2 == 0) throw i;
            });
        }
        int kept = -1;
        try {
            all.wait();
        } catch (int i) {
            kept = i;
        }
        EXPECT_EQ(finished, n);  // the others were waited for all the same
        return kept;
    });
    EXPECT_GE(thrown, 0);
    EXPECT_EQ(thrown % 2, 0);
}

struct cannot_be_copied_now {
    cannot_be_copied_now() = default;

    cannot_be_copied_now(const cannot_be_copied_now&) { throw std::runtime_error("no copy today"); }

    void operator()() const {}
};

TEST_P(WaitGroup, WorkThatCannotBeStartedDoesNotCount) {
    rt().run([] {
        wait_group all;
        const cannot_be_copied_now f;
        EXPECT_THROW(all.go(f), std::runtime_error);
        all.wait();
    });
}

TEST_P(WaitGroup, PlainThreadsAddAndFinishWork) {
    const int rounds = scaled(200);
    for (int round = 0; round < rounds; ++round) {
        wait_group all;
        std::atomic<int> finished = 0;
        all.add(4);
        std::thread outside([&] {
            for (int i = 0; i < 2; ++i) ++finished, all.done();
        });
        for (int i = 0; i < 2; ++i) rt().go([&] { ++finished, all.done(); });
        all.wait();
        ASSERT_EQ(finished, 4);
        outside.join();
    }
}

TEST_P(WaitGroup, AWaitWithATimeLimitSaysWhetherAllHaveFinished) {
    rt().run([] {
        wait_group all;
        EXPECT_TRUE(all.wait_for(0s)) << "no task";
        event proceed;
        all.go([&] { proceed.wait(); });
        EXPECT_FALSE(all.wait_for(0s));
        EXPECT_FALSE(all.wait_for(-1s));
        EXPECT_FALSE(all.wait_for(1ms));
        EXPECT_FALSE(all.wait_until(std::chrono::steady_clock::now() + 1ms));
        EXPECT_FALSE(all.wait_until(std::chrono::system_clock::now() - 1h));
        proceed.set();
        EXPECT_TRUE(all.wait_for(1h));
        EXPECT_TRUE(all.wait_until(std::chrono::steady_clock::now() + 1h));
    });
}

TEST_P(WaitGroup, AWaitWithATimeLimitRethrowsWhatATaskHasThrown) {
    rt().run([] {
        wait_group all;
        all.go([] { throw std::runtime_error("broken"); });
        EXPECT_THROW(static_cast<void>(all.wait_for(1h)), std::runtime_error);
        EXPECT_TRUE(all.wait_for(1h)) << "only once";
    });
}

TEST_P(WaitGroup, AWaitWithATimeLimitIsACancellationPoint) {
    rt().run([] {
        wait_group all;
        event proceed;
        all.go([&] { proceed.wait(); });
        EXPECT_THROW(with_timeout(1ms, [&] { static_cast<void>(all.wait_for(1h)); }), timed_out);
        EXPECT_THROW(scope([&](task_scope& s) {
                         s.cancel();
                         static_cast<void>(all.wait_for(1h));
                         return 0;
                     }),
                     cancelled);
        proceed.set();
        all.wait();
    });
}

// The group may be destroyed as soon as the wait returns, also if the time limit passes at that
// moment.
TEST_P(WaitGroup, MayBeDestroyedAfterAWaitWithATimeLimit) {
    rt().run([] {
        for (int round = 0; round < scaled(500); ++round) {
            const auto all = std::make_unique<wait_group>();
            all->go([round] {
                if (round % 2 == 0) weft::sleep_for(std::chrono::microseconds(round % 60));
            });
            if (!all->wait_for(std::chrono::microseconds(30))) all->wait();
        }
    });
}

}  // namespace
}  // namespace weft::test
