// barrier_test.cc: green threads and plain threads that meet repeatedly.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Barrier = procs_test;
WEFT_SWEEP(Barrier);

TEST_P(Barrier, NoPartyIsAPhaseAhead) {
    constexpr std::size_t parties = 9;
    const int phases = scaled(500);
    std::vector<int> at(parties);  // plain: each written by its party, all read by the completion
    int wrong = 0;
    int completed = 0;
    barrier meeting(parties, [&]() noexcept {
        ++completed;
        wrong += std::count(at.begin(), at.end(), completed) != static_cast<std::ptrdiff_t>(parties);
    });
    std::atomic<int> unseen = 0;
    const auto work = [&](std::size_t me, bool give_way) {
        for (int phase = 1; phase <= phases; ++phase) {
            at[me] = phase;
            if (give_way && phase % 8 == 0) weft::yield();
            meeting.arrive_and_wait();
            unseen += completed < phase;
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 2; ++i) threads.emplace_back([&, i] { work(i, false); });
    for (std::size_t i = 2; i < parties; ++i) rt().go([&, i] { work(i, true); });
    for (std::thread& t : threads) t.join();
    rt().drain();
    EXPECT_EQ(completed, phases);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(unseen, 0);
}

// Arriving and waiting are separate: a party does other work between the two.
TEST_P(Barrier, APartyMayWaitLongAfterItsArrival) {
    const int phases = scaled(500);
    std::atomic<int> arrived = 0;
    std::atomic<int> early = 0;
    barrier<> meeting(4);
    const auto work = [&] {
        for (int phase = 1; phase <= phases; ++phase) {
            ++arrived;
            auto token = meeting.arrive();
            if (phase % 3 == 0) sleep_for(1us);
            meeting.wait(std::move(token));
            early += arrived < 4 * phase;
        }
    };
    std::thread plain(work);
    for (int i = 0; i < 3; ++i) rt().go(work);
    plain.join();
    rt().drain();
    EXPECT_EQ(early, 0);
}

TEST_P(Barrier, OneMayArriveForMany) {
    int phases = 0;
    barrier meeting(10, [&phases]() noexcept { ++phases; });
    rt().run([&] {
        wait_group all;
        for (int n : {1, 2, 3, 4}) {
            all.go([&, n] {
                auto token = meeting.arrive(n);
                meeting.wait(std::move(token));
            });
        }
        all.wait();
    });
    EXPECT_EQ(phases, 1);
}

TEST_P(Barrier, ThePartiesLeaveOneByOne) {
    constexpr int parties = 12;
    int phases = 0;
    barrier meeting(parties, [&phases]() noexcept { ++phases; });
    std::atomic<int> wrong = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < parties; ++i) {
            all.go([&, i] {
                for (int phase = 0; phase < i; ++phase) {
                    meeting.arrive_and_wait();
                    wrong += phases <= phase;
                }
                meeting.arrive_and_drop();
            });
        }
        all.wait();
    });
    EXPECT_EQ(phases, parties);
    EXPECT_EQ(wrong, 0);
}

// The completion runs in one of the parties. It may park there while the others wait.
TEST_P(Barrier, TheCompletionMayWait) {
    int completed = 0;
    barrier meeting(4, [&completed]() noexcept {
        sleep_for(50us);
        ++completed;
    });
    std::atomic<int> early = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < 4; ++i) {
            all.go([&] {
                for (int phase = 1; phase <= 20; ++phase) {
                    meeting.arrive_and_wait();
                    early += completed < phase;
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(completed, 20);
    EXPECT_EQ(early, 0);
}

// The barrier is destroyed and overwritten as soon as all waits of the last phase have returned.
TEST_P(Barrier, MayBeDestroyedRightAfterTheLastWait) {
    const int rounds = scaled(5000);
    rt().run([rounds] {
        alignas(barrier<>) std::byte memory[sizeof(barrier<>)];
        for (int i = 0; i < rounds; ++i) {
            auto* meeting = ::new (memory) barrier<>(3);
            go([meeting] { (void)meeting->arrive(); });
            go([meeting] { meeting->arrive_and_drop(); });
            meeting->arrive_and_wait();
            meeting->~barrier();
            std::memset(memory, 0xa5, sizeof memory);
        }
    });
}

TEST_P(Barrier, MayBeDestroyedRightAfterAPlainThreadsWait) {
    const int rounds = scaled(2000);
    alignas(barrier<>) std::byte memory[sizeof(barrier<>)];
    for (int i = 0; i < rounds; ++i) {
        auto* meeting = ::new (memory) barrier<>(2);
        rt().go([meeting] { (void)meeting->arrive(); });
        meeting->arrive_and_wait();
        meeting->~barrier();
        std::memset(memory, 0xa5, sizeof memory);
    }
}

TEST_P(Barrier, AWaiterOfAStoppedRuntimeIsRemoved) {
    barrier<> meeting(2);
    park(1, [&] { rt().go([&] { meeting.arrive_and_wait(); }); });
    EXPECT_EQ(rt().abandon(), 1U);
    meeting.arrive_and_wait();  // the other party has arrived all the same
}

}  // namespace
}  // namespace weft::test
