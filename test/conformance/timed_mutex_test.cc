// timed_mutex_test.cc: waits for a mutex that time out: a waiter that gives up leaves no trace, and
// costs no other waiter its turn.

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <weft/detail/cancel.h>
#include <weft/timed_mutex.h>
#include <weft/weft.h>

#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using TimedMutex = procs_test;
WEFT_SWEEP(TimedMutex);

class TimedMutexOnOneProcessor : private calm, public procs_test {};

WEFT_SWEEP_OVER(TimedMutexOnOneProcessor, 1U);

static_assert(sizeof(timed_mutex) == sizeof(mutex) && sizeof(mutex) == 24);
static_assert(!std::is_copy_constructible_v<timed_mutex> && std::is_nothrow_default_constructible_v<timed_mutex>);

constinit timed_mutex timed_before_main;  // usable before main

TEST_P(TimedMutex, AFreeMutexIsLockedWithAnyTimeout) {
    rt().run([] {
        timed_mutex m;
        for (const auto timeout : {-1h, 0h, 1h}) {
            EXPECT_TRUE(m.try_lock_for(timeout));
            m.unlock();
        }
        EXPECT_TRUE(m.try_lock_until(steady_clock::time_point::min()));
        m.unlock();
        EXPECT_TRUE(m.try_lock_until(std::chrono::system_clock::now()));
        m.unlock();
    });
}

TEST_P(TimedMutex, WithAZeroTimeoutTriesOnce) {
    timed_mutex m;
    const std::lock_guard hold(m);
    const uint64_t parks = rt().stats().parks;
    rt().run([&] {
        EXPECT_FALSE(m.try_lock_for(0s));
        EXPECT_FALSE(m.try_lock_for(-1s));
        EXPECT_FALSE(m.try_lock_until(steady_clock::now()));
        EXPECT_FALSE(m.try_lock_until(std::chrono::system_clock::time_point::min()));
    });
    EXPECT_EQ(rt().stats().parks, parks);
}

TEST_P(TimedMutex, TimesOutNoEarlierThanRequested) {
    timed_mutex m;
    m.lock();
    const auto wait = [&m] {
        const auto start = steady_clock::now();
        EXPECT_FALSE(m.try_lock_for(5ms));
        return steady_clock::now() - start;
    };
    EXPECT_GE(rt().run(wait), 5ms);
    EXPECT_GE(wait(), 5ms);  // a plain thread
    m.unlock();
    EXPECT_TRUE(m.try_lock());  // no trace is left
    m.unlock();
}

TEST_P(TimedMutex, SucceedsIfUnlockedInTime) {
    timed_mutex m;
    for (int i = 0; i < 20; ++i) {
        m.lock();
        std::atomic<bool> got = false;
        park(1, [&] {
            rt().go([&] {
                got = m.try_lock_for(1h);
                if (got) m.unlock();
            });
        });
        m.unlock();
        rt().drain();
        ASSERT_TRUE(got);
    }
}

TEST_P(TimedMutex, StandardLocksWorkWithIt) {
    rt().run([] {
        timed_mutex m;
        {
            std::unique_lock hold(m, 1h);
            EXPECT_TRUE(hold.owns_lock());
            std::unique_lock second(m, 100us);
            EXPECT_FALSE(second.owns_lock());
            EXPECT_FALSE(second.try_lock_until(steady_clock::now()));
        }
        const std::scoped_lock both(m);
        mutex& plain = m;
        EXPECT_FALSE(plain.try_lock());
    });
}

// No waiter is lost, and no two are inside at once, when deadlines expire while the mutex is
// unlocked.
TEST_P(TimedMutex, DeadlinesRacingWithUnlocksLoseNothing) {
    timed_mutex m;
    long entered = 0;
    std::atomic<long> served = 0;
    std::atomic<long> in_vain = 0;
    const int each = scaled(1500);
    const auto hammer = [&](uint64_t seed) {
        prng random(seed);
        for (int i = 0; i < each; ++i) {
            if (!random.one_in(3)) {
                if (!m.try_lock_for(std::chrono::microseconds(random.below(40)))) {
                    ++in_vain;
                    continue;
                }
            } else {
                m.lock();
            }
            ++entered;
            ++served;
            if (random.one_in(8)) compute_for(5us);
            if (random.one_in(64)) sleep_for(10us);
            m.unlock();
        }
    };
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 2; ++t) threads.emplace_back(hammer, t);
    for (uint64_t g = 2; g < 8; ++g) rt().go([&, g] { hammer(g); });
    for (std::thread& t : threads) t.join();
    rt().drain();
    EXPECT_EQ(entered, served);
    EXPECT_EQ(served + in_vain, 8L * each);
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

// Woken too late, and overtaken: the next waiter must not stay asleep.
TEST_P(TimedMutexOnOneProcessor, AWaiterWokenTooLateWakesTheNextWaiter) {
    const std::vector<char> order = rt().run([] {
        std::vector<char> events;
        timed_mutex m;
        wait_group all;
        m.lock();
        all.go([&] {
            events.push_back(m.try_lock_for(2ms) ? '!' : 't');  // too late
        });
        weft::yield();
        all.go([&] {
            m.lock();
            events.push_back('w');
            m.unlock();
        });
        weft::yield();     // Both wait now.
        m.unlock();        // Wakes the first.
        m.lock();          // But we are still running.
        compute_for(3ms);  // Until its deadline has passed.
        weft::yield();     // It sees that it lost, and gives up.
        events.push_back('b');
        m.unlock();
        all.wait();
        EXPECT_TRUE(m.try_lock());
        m.unlock();
        return events;
    });
    EXPECT_EQ(order, (std::vector<char>{'t', 'b', 'w'}));
}

// Woken too late, but the mutex is still free: the waiter takes it.
TEST_P(TimedMutexOnOneProcessor, AWaiterWokenTooLateStillTakesAFreeMutex) {
    const bool got = rt().run([] {
        timed_mutex m;
        wait_group all;
        bool taken = false;
        m.lock();
        all.go([&] {
            taken = m.try_lock_for(2ms);
            if (taken) m.unlock();
        });
        weft::yield();
        m.unlock();
        compute_for(3ms);
        all.wait();
        return taken;
    });
    EXPECT_TRUE(got);
}

// The waiter that made the mutex starve is gone. It must not keep others out.
TEST_P(TimedMutexOnOneProcessor, StarvationEndsWhenTheStarvingWaiterTimesOut) {
    rt().run([] {
        timed_mutex m;
        wait_group all;
        m.lock();
        all.go([&] { EXPECT_FALSE(m.try_lock_for(6ms)); });
        weft::yield();
        compute_for(3ms);
        m.unlock();     // Wakes it.
        m.lock();       // We are first.
        weft::yield();  // It starves now.
        all.wait();     // Until it gives up.
        m.unlock();
        EXPECT_TRUE(m.try_lock());
        EXPECT_FALSE(m.try_lock());
        m.unlock();
    });
}

// One G keeps the mutex for long periods. Another one needs it briefly, and gets it before a
// generous deadline.
TEST_P(TimedMutex, ABriefUserIsNotStarvedByALongHolder) {
    rt().run([] {
        timed_mutex m;
        std::atomic<bool> stop = false;
        wait_group holder;
        holder.go([&] {
            while (!stop) {
                const std::lock_guard hold(m);
                sleep_for(100us);
            }
        });
        for (int i = 0; i < 10; ++i) {
            sleep_for(100us);
            EXPECT_TRUE(m.try_lock_for(patience()));
            m.unlock();
        }
        stop = true;
        holder.wait();
    });
}

// ---- Cancellation.

TEST_P(TimedMutex, CancellationEndsAWaitWithADeadline) {
    timed_mutex m;
    m.lock();
    std::atomic<bool> thrown = false;
    weft::detail::cancel_context context(nullptr, weft::detail::never);
    park(1, [&] {
        rt().go([&] {
            const weft::detail::ambient_scope in(&context);
            try {
                EXPECT_FALSE(m.try_lock_for(1h));
            } catch (const cancelled&) {
                thrown = true;
            }
        });
    });
    context.cancel();
    rt().drain();
    EXPECT_TRUE(thrown);
    m.unlock();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

TEST_P(TimedMutex, AnAmbientDeadlineEndsAWaitWithADeadline) {
    timed_mutex m;
    const std::lock_guard hold(m);
    rt().run([&] {
        weft::detail::cancel_context context(nullptr, weft::detail::deadline_after(2ms));
        const weft::detail::ambient_scope in(&context);
        EXPECT_THROW(static_cast<void>(m.try_lock_for(1h)), timed_out);
    });
}

TEST_P(TimedMutex, LockIsNotACancellationPoint) {
    timed_mutex m;
    m.lock();
    std::atomic<bool> inside = false;
    weft::detail::cancel_context context(nullptr, weft::detail::never);
    park(1, [&] {
        rt().go([&] {
            const weft::detail::ambient_scope in(&context);
            m.lock();
            inside = true;
            m.unlock();
        });
    });
    context.cancel();
    EXPECT_EQ(rt().run([] { return 7; }), 7);
    EXPECT_FALSE(inside);
    m.unlock();
    rt().drain();
    EXPECT_TRUE(inside);
}

}  // namespace
}  // namespace weft::test
