// thread_limit_test.cc: many blocking calls, and few threads to make them on.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "support/asking.h"
#include "support/build.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/watchdog.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most = 8;

std::unique_ptr<runtime> runtime_of(const char* threads, unsigned procs) {
    const environment_variable limit("RUN_MAX_THREADS", threads);
    // SIGUSR1 instead of the usual signal: other tests install a handler for that, which must be in
    // place before the runtime's.
    return std::make_unique<runtime>(runtime_options{.procs = procs, .preempt_signal = SIGUSR1});
}

// A runtime that may have eight threads.
class ThreadLimit : public ::testing::TestWithParam<unsigned> {
protected:
    ThreadLimit() : rt_(make(GetParam())), dog_(current_test_name(), patience() + 30s, [this] { rt_->dump(2); }) {
        watcher_ = std::thread([this] {
            while (!over_) {
                const std::size_t now = rt_->stats().threads;
                if (now > most_seen_) most_seen_ = now;
                std::this_thread::sleep_for(200us);
            }
        });
    }

    ~ThreadLimit() override {
        over_ = true;
        watcher_.join();
        EXPECT_LE(most_seen_, most);
    }

    runtime& rt() { return *rt_; }

    // n green threads that call block, and one that computes at the same time.
    template <typename Block>
    void all_finish(int n, Block block) {
        std::atomic<int> finished = 0;
        std::atomic<long> turns = 0;
        std::atomic<bool> blocked = true;
        rt().go([&] {
            while (blocked || turns < 100) {
                ++turns;
                weft::yield();
            }
        });
        for (int i = 0; i < n; ++i) {
            rt().go([&] {
                block();
                weft::yield();
                block();
                ++finished;
            });
        }
        eventually([&] { return finished == n; });
        const long turns_meanwhile = turns;
        blocked = false;
        rt().drain();
        EXPECT_GT(turns_meanwhile, 0);
        EXPECT_EQ(not_counted_, 0);
        EXPECT_EQ(rt().run([] { return 7; }), 7);
    }

    // Sleeps 5 ms at least once. Returns only after the limit was reached and counted.
    void pause_until_threads_are_short() {
        const auto deadline = std::chrono::steady_clock::now() + patience();
        do ::usleep(5000);
        while (rt_->stats().thread_shortages == 0 && std::chrono::steady_clock::now() < deadline);
        if (rt_->stats().thread_shortages == 0) ++not_counted_;
    }

    // Sleeps 5 ms at least once. Returns only after the maximum number was inside at once.
    void pause_until_places_are_taken() {
        if (++inside_ >= most - GetParam()) were_taken_ = true;
        const auto deadline = std::chrono::steady_clock::now() + patience();
        do ::usleep(5000);
        while (!were_taken_ && std::chrono::steady_clock::now() < deadline);
        if (!were_taken_) ++not_counted_;
        --inside_;
    }

    std::atomic<int> not_counted_ = 0;

private:
    static std::unique_ptr<runtime> make(unsigned procs) {
        ::setenv("RUN_MAX_THREADS", "8", 1);  // NOLINT(concurrency-mt-unsafe): before the threads of the test
        auto rt = std::make_unique<runtime>(runtime_options{.procs = procs});
        ::unsetenv("RUN_MAX_THREADS");  // NOLINT(concurrency-mt-unsafe): the monitor does not read it
        return rt;
    }

    std::unique_ptr<runtime> rt_;
    std::atomic<std::size_t> inside_ = 0;
    std::atomic<bool> were_taken_ = false;
    watchdog dog_;
    std::atomic<std::size_t> most_seen_ = 0;
    std::atomic<bool> over_ = false;
    std::thread watcher_;
};

WEFT_SWEEP_OVER(ThreadLimit, 1U, 2U, 4U);

TEST_P(ThreadLimit, BlockingCallsAllFinish) {
    all_finish(100, [this] { blocking([this] { pause_until_places_are_taken(); }); });
}

TEST_P(ThreadLimit, CallsWithImmediateHandOffAllFinish) {
    all_finish(100, [this] { blocking(hand_off::at_once, [this] { pause_until_places_are_taken(); }); });
}

TEST_P(ThreadLimit, UnannouncedBlockingCallsAllFinish) {
    all_finish(100, [this] { pause_until_threads_are_short(); });
}

TEST_P(ThreadLimit, HogsAllFinish) {
    all_finish(scaled(30), [] { compute_for(15ms); });
}

TEST_P(ThreadLimit, AMixtureFinishes) {
    std::atomic<int> turn = 0;
    all_finish(100, [&] {
        switch (++turn % 5) {
            case 0:
                ::usleep(5000);
                break;
            case 1:
                blocking([] { std::this_thread::sleep_for(5ms); });
                break;
            case 2:
                blocking(hand_off::at_once, [] { std::this_thread::sleep_for(2ms); });
                break;
            case 3:
                sleep_for(1ms);
                break;
            default: {
                const pin here;
                ::usleep(2000);
                weft::yield();
            }
        }
    });
}

// Half of the threads are blocked for good. The others do all the work.
TEST_P(ThreadLimit, OtherGreenThreadsRunWhileAThreadIsFree) {
    constexpr int blocked = static_cast<int>(most) - 4;
    std::atomic<int> inside = 0;
    std::atomic<bool> over = false;
    for (int i = 0; i < blocked; ++i) {
        rt().go([&] {
            blocking([&] {
                ++inside;
                while (!over) std::this_thread::sleep_for(100us);
            });
        });
    }
    eventually([&] { return inside == blocked; });
    EXPECT_EQ(rt().run([] {
        const chan<int> c;
        wait_group sender;
        sender.go([c] {
            for (int i = 1; i <= 100; ++i) c.send(int{i});
            c.close();
        });
        int sum = 0;
        for (const int v : c) sum += v;
        sender.wait();
        return sum;
    }),
              5050);
    over = true;
    rt().drain();
}

// There are as many places for calls as threads beyond the current number of Ps.
TEST_P(ThreadLimit, TheNumberOfCallPlacesFollowsTheNumberOfPs) {
    for (const unsigned procs : {8U, GetParam(), 1U, GetParam()}) {
        rt().set_max_procs(procs);
        if (procs == most) continue;
        std::atomic<std::size_t> inside = 0;
        std::atomic<bool> over = false;
        for (std::size_t i = 0; i < 2 * most; ++i) {
            rt().go([&] {
                blocking([&] {
                    ++inside;
                    while (!over) std::this_thread::sleep_for(100us);
                    --inside;
                });
            });
        }
        eventually([&] { return inside == most - procs; });
        std::atomic<int> turns = 0;
        rt().go([&] {
            while (turns < 100) {
                ++turns;
                weft::yield();
            }
        });
        eventually([&] { return turns == 100; });
        EXPECT_EQ(inside, most - procs);
        over = true;
        rt().drain();
    }
}

// A shortage is counted when a thread is needed and cannot be made. A call that waits for a place
// has not requested one.
TEST(ThreadLimitOfEight, ACallWaitingForAPlaceIsNoThreadShortage) {
    const calm undisturbed;  // a retake requests a thread
    const auto rt = runtime_of("8", 1);
    const watchdog dog(current_test_name(), patience() + 30s, [&] { rt->dump(2); });
    std::atomic<std::size_t> inside = 0;
    std::atomic<bool> over = false;
    const auto call = [&] {
        rt->go([&] {
            blocking(hand_off::at_once, [&] {
                ++inside;
                while (!over) std::this_thread::sleep_for(100us);
            });
        });
    };
    for (std::size_t i = 0; i < most - 1; ++i) call();
    eventually([&] { return inside == most - 1; });
    const uint64_t before = rt->stats().thread_shortages;
    for (int i = 0; i < 20; ++i) call();
    rt->run([] {});  // runs after them
    EXPECT_EQ(rt->stats().thread_shortages, before);
    over = true;
    rt->drain();
    EXPECT_EQ(inside, most - 1 + 20);
}

// A call that waits for a place gets one in the end, even when places become fewer or unnecessary.
TEST_P(ThreadLimit, WaitingCallsFinishWhileTheNumberOfPsChanges) {
    std::atomic<int> finished = 0;
    for (int i = 0; i < 60; ++i) {
        rt().go([&] {
            blocking([] { std::this_thread::sleep_for(2ms); });
            ++finished;
        });
    }
    for (const unsigned procs : {1U, 8U, 2U, 7U, GetParam()}) {
        rt().set_max_procs(procs);
        std::this_thread::sleep_for(3ms);
    }
    rt().drain();
    EXPECT_EQ(finished, 60);
}

// The minimum: blocking acts as in a single-threaded program. Nothing is lost.
TEST(ThreadLimitOfOne, GreenThreadsRunOneAfterTheOther) {
    for (const char* limit : {"1", "2"}) {
        ::setenv("RUN_MAX_THREADS", limit, 1);  // NOLINT(concurrency-mt-unsafe): no threads are there yet
        runtime rt({.procs = 2});
        ::unsetenv("RUN_MAX_THREADS");  // NOLINT(concurrency-mt-unsafe): the monitor does not read it
        std::atomic<int> finished = 0;
        for (int i = 0; i < 20; ++i) {
            rt.go([&, i] {
                if (i % 4 == 0) ::usleep(2000);
                if (i % 4 == 1) blocking([] { ::usleep(2000); });
                if (i % 4 == 2) blocking(hand_off::at_once, [] { ::usleep(2000); });
                if (i % 4 == 3) compute_for(12ms);
                weft::yield();
                sleep_for(100us);
                ++finished;
            });
        }
        rt.drain();
        EXPECT_EQ(finished, 20);
        EXPECT_LE(rt.stats().threads, static_cast<std::size_t>(limit[0] - '0'));
    }
}

// ---- No thread is available for Gs that the M of a pinned or kept G may not run.

// Yields until `over`.
void take_turns(const std::atomic<bool>& over) {
    while (!over) weft::yield();
}

TEST(ThreadLimitOfOne, AnInterruptedGFinishes) {
    if (built_with_tsan) GTEST_SKIP() << "no signals with ThreadSanitizer";
    const auto rt = runtime_of("1", 1);
    const watchdog dog(current_test_name(), patience() + 30s, [&] { rt->dump(2); });
    std::atomic<bool> over = false;
    for (int i = 0; i < 2; ++i) rt->go([&] { take_turns(over); });
    rt->run([&] {
        const asking monitor(1ms);
        while (times_interrupted() < 20) {
            const preemptible here;
            for (int i = 0; i < 100'000; ++i) asm volatile("");
        }
        over = true;
    });
    rt->drain();
    EXPECT_GT(rt->stats().interrupted, 0U);
}

TEST(ThreadLimitOfOne, APinnedGFinishesBehindQueuedGs) {
    for (const priority own : {priority::low, priority::normal, priority::high}) {
        const auto rt = runtime_of("1", 1);
        const watchdog dog(current_test_name(), patience() + 30s, [&] { rt->dump(2); });
        std::atomic<bool> over = false;
        event woken;
        std::atomic<bool> waits = false;
        rt->go([&] {
            const pin here;
            this_g::set_priority(own);
            for (int i = 0; i < 600; ++i) go([&] { take_turns(over); });  // more than a ring holds
            for (int i = 0; i < 10; ++i) weft::yield();
            waits = true;
            woken.wait();
            over = true;
        });
        eventually([&] { return waits.load(); });
        woken.set();
        rt->drain();
        EXPECT_TRUE(over);
    }
}

// Each thread belongs to a pinned G, and each P's queue is full of others: what one finds is the
// other's.
TEST(ThreadLimitOfTwo, PinnedGsThatWakeEachOtherFinish) {
    const auto rt = runtime_of("2", 2);
    const watchdog dog(current_test_name(), patience() + 30s, [&] { rt->dump(2); });
    std::atomic<bool> over = false;
    const chan<int> there;
    const chan<int> back;
    constexpr int rounds = 100;
    std::atomic<int> pinned = 0;
    rt->go([&] {
        const pin here;
        ++pinned;
        for (int i = 0; i < 20; ++i) go([&] { take_turns(over); });
        busily([&] { return pinned == 2; });
        for (int i = 0; i < rounds; ++i) {
            there.send(int{i});
            EXPECT_EQ(back.recv(), i);
        }
        over = true;
    });
    rt->go([&] {
        const pin here;
        ++pinned;
        busily([&] { return pinned == 2; });
        for (int i = 0; i < rounds; ++i) back.send(int{there.recv().value_or(-1)});
    });
    rt->drain();
    EXPECT_TRUE(over);
}

// The number of processors, which defaults to that of the CPUs, may reach the thread limit.
TEST(ThreadLimitBelowTheProcessors, CallsThatAnotherGreenThreadEndsAllFinish) {
    for (const char* limit : {"2", "3", "6", "8"}) {
        const auto rt = runtime_of(limit, 8);
        const watchdog dog(current_test_name(), patience() + 30s, [&] { rt->dump(2); });
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        std::atomic<int> ended = 0;
        rt->run([&] {
            constexpr int calls = 50;
            wait_group all;
            for (int i = 0; i < calls; ++i) {
                all.go([&] {
                    blocking([&] {
                        char byte = 0;
                        if (::read(ends[0], &byte, 1) == 1) ++ended;
                    });
                });
            }
            sleep_for(1ms);
            for (int i = 0; i < calls; ++i) EXPECT_EQ(::write(ends[1], "x", 1), 1);
            all.wait();
            EXPECT_EQ(ended, calls);
        });
        ::close(ends[0]);
        ::close(ends[1]);
    }
}

// The limit is reached, and later there is room again.
TEST_P(ThreadLimit, AllPsRunAgainAfterTheLimitWasReached) {
    for (int round = 0; round < 3; ++round) {
        all_finish(40, [] { ::usleep(3000); });
        const unsigned procs = GetParam();
        std::atomic<unsigned> at_once = 0;
        for (unsigned i = 0; i < procs; ++i) {
            rt().go([&] {
                ++at_once;
                busily([&] { return at_once == procs; });
            });
        }
        rt().drain();
        EXPECT_EQ(at_once, procs) << "all Ps run";
    }
}

}  // namespace
}  // namespace weft::test
