// note_test.cc: no wake-up is lost, at whatever moment it comes.
#include "os/note.h"

#include <atomic>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include <weft/detail/wait.h>

#include "support/scale.h"
#include "support/units.h"

namespace weft::detail {
namespace {

using test::ms;

TEST(Note, AWakeBeforeTheSleepIsKept) {
    note n;
    n.wake();
    EXPECT_TRUE(n.sleep(never));
}

TEST(Note, TwoWakesAreOne) {
    note n;
    n.wake();
    n.wake();
    EXPECT_TRUE(n.sleep(never));
    n.reset();
    EXPECT_FALSE(n.sleep(os::monotonic_ns() + ms));
}

TEST(Note, AnUninterruptedSleepTimesOutNoEarlier) {
    note n;
    const int64_t deadline_ns = os::monotonic_ns() + 2 * ms;
    EXPECT_FALSE(n.sleep(deadline_ns));
    EXPECT_GE(os::monotonic_ns(), deadline_ns);
}

TEST(Note, ADeadlineThatHasPassedDoesNotHideAWake) {
    note n;
    n.wake();
    EXPECT_TRUE(n.sleep(1));
}

TEST(Note, AWakeAfterATimeOutIsKeptForTheNextSleep) {
    note n;
    EXPECT_FALSE(n.sleep(1));
    n.wake();
    EXPECT_TRUE(n.sleep(never));
}

TEST(Note, AWakeSynchronizesWithTheSleep) {
    const int rounds = test::scaled(20'000);
    note ping;
    note pong;
    int ball = 0;  // guarded by the two notes: the notified thread owns it
    std::thread other([&] {
        for (int i = 0; i < rounds; ++i) {
            ping.sleep(never);
            ping.reset();
            ++ball;
            pong.wake();
        }
    });
    for (int i = 0; i < rounds; ++i) {
        ball *= 2;
        ball %= 1'000'003;
        const int sent = ball;
        ping.wake();
        ASSERT_TRUE(pong.sleep(never));
        pong.reset();
        ASSERT_EQ(ball, sent + 1);
    }
    other.join();
}

// Either sleep() returns true, or the wake-up remains for the next sleep.
TEST(Note, AWakeThatRacesWithTheDeadlineIsSeenOnce) {
    const int rounds = test::scaled(20'000);
    note n;
    std::atomic<int> turn{0};
    std::thread waker([&] {
        for (int i = 1; i <= rounds; ++i) {
            while (turn.load() != i) os::yield_thread();
            n.wake();
        }
    });
    int told_in_time = 0;
    for (int i = 1; i <= rounds; ++i) {
        n.reset();
        turn.store(i);
        if (n.sleep(os::monotonic_ns() + 1 + (i % 64) * 1'000)) {
            ++told_in_time;
        } else {
            ASSERT_TRUE(n.sleep(never)) << "a wake was lost";
        }
    }
    waker.join();
    RecordProperty("told_in_time", told_in_time);
}

}  // namespace
}  // namespace weft::detail
