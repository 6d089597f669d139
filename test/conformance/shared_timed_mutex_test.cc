// shared_timed_mutex_test.cc: waits for a shared mutex that time out: a waiter that gives up lets
// in those it kept out.

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/detail/cancel.h>
#include <weft/shared_timed_mutex.h>
#include <weft/weft.h>

#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/spread.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using SharedTimedMutex = procs_test;
WEFT_SWEEP(SharedTimedMutex);

class SharedTimedMutexOnOneProcessor : private calm, public procs_test {};

WEFT_SWEEP_OVER(SharedTimedMutexOnOneProcessor, 1U);

void expect_free(shared_timed_mutex& m) {
    EXPECT_TRUE(m.try_lock());
    m.unlock();
    EXPECT_TRUE(m.try_lock_shared());
    m.unlock_shared();
}

TEST_P(SharedTimedMutex, WithAZeroTimeoutTriesOnce) {
    shared_timed_mutex m;
    const uint64_t parks = rt().stats().parks;
    rt().run([&] {
        const std::lock_guard hold(m);
        EXPECT_FALSE(m.try_lock_for(0s));
        EXPECT_FALSE(m.try_lock_until(steady_clock::now()));
        EXPECT_FALSE(m.try_lock_shared_for(-1s));
        EXPECT_FALSE(m.try_lock_shared_until(std::chrono::system_clock::now()));
    });
    for (const bool spread : {false, true}) {
        if (spread) spread_for_test::spread(m);
        rt().run([&] {
            const std::shared_lock hold(m);
            EXPECT_FALSE(m.try_lock_for(0s));
            EXPECT_TRUE(m.try_lock_shared_for(0s));
            m.unlock_shared();
        });
    }
    EXPECT_EQ(rt().stats().parks, parks);
    expect_free(m);
}

TEST_P(SharedTimedMutex, TimesOutNoEarlierThanRequested) {
    shared_timed_mutex m;
    const auto write = [&m] {
        const auto start = steady_clock::now();
        EXPECT_FALSE(m.try_lock_for(3ms));
        return steady_clock::now() - start;
    };
    const auto read = [&m] {
        const auto start = steady_clock::now();
        EXPECT_FALSE(m.try_lock_shared_for(3ms));
        return steady_clock::now() - start;
    };
    m.lock();
    EXPECT_GE(rt().run(write), 3ms);
    EXPECT_GE(rt().run(read), 3ms);
    EXPECT_GE(write(), 3ms);
    EXPECT_GE(read(), 3ms);
    m.unlock();
    m.lock_shared();
    EXPECT_GE(rt().run(write), 3ms);
    EXPECT_GE(write(), 3ms);
    m.unlock_shared();
    expect_free(m);
}

TEST_P(SharedTimedMutex, SucceedsIfUnlockedInTime) {
    shared_timed_mutex m;
    for (const bool writes : {false, true}) {
        m.lock();
        std::atomic<bool> got = false;
        park(1, [&] {
            rt().go([&] {
                if (writes) {
                    got = m.try_lock_for(1h);
                    if (got) m.unlock();
                } else {
                    got = m.try_lock_shared_for(1h);
                    if (got) m.unlock_shared();
                }
            });
        });
        m.unlock();
        rt().drain();
        EXPECT_TRUE(got);
    }
}

// A reader holds the lock throughout. The writer keeps another reader out until its wait times out.
TEST_P(SharedTimedMutex, ATimedOutWriterAdmitsTheReadersItKeptOut) {
    shared_timed_mutex m;
    m.lock_shared();
    std::atomic<bool> wrote = false;
    std::atomic<bool> read = false;
    park(1, [&] { rt().go([&] { wrote = m.try_lock_for(20ms); }); });
    rt().go([&] {
        m.lock_shared();
        read = true;
        m.unlock_shared();
    });
    rt().drain();
    EXPECT_FALSE(wrote);
    EXPECT_TRUE(read);
    m.unlock_shared();
    expect_free(m);
}

TEST_P(SharedTimedMutex, ACancelledWriterAdmitsTheReadersItKeptOut) {
    shared_timed_mutex m;
    m.lock_shared();
    std::atomic<bool> thrown = false;
    std::atomic<bool> read = false;
    weft::detail::cancel_context context(nullptr, weft::detail::never);
    park(1, [&] {
        rt().go([&] {
            const weft::detail::ambient_scope in(&context);
            try {
                static_cast<void>(m.try_lock_for(1h));
            } catch (const cancelled&) {
                thrown = true;
            }
        });
    });
    park(1, [&] {
        rt().go([&] {
            m.lock_shared();
            read = true;
            m.unlock_shared();
        });
    });
    EXPECT_FALSE(read);
    context.cancel();
    rt().drain();
    EXPECT_TRUE(thrown);
    EXPECT_TRUE(read);
    m.unlock_shared();
    expect_free(m);
}

TEST_P(SharedTimedMutex, LockAndLockSharedAreNotCancellationPoints) {
    shared_timed_mutex m;
    m.lock();
    std::atomic<int> inside = 0;
    weft::detail::cancel_context writes(nullptr, weft::detail::never);
    weft::detail::cancel_context reads(nullptr, weft::detail::never);
    park(2, [&] {
        rt().go([&] {
            const weft::detail::ambient_scope in(&writes);
            m.lock();
            ++inside;
            m.unlock();
        });
        rt().go([&] {
            const weft::detail::ambient_scope in(&reads);
            m.lock_shared();
            ++inside;
            m.unlock_shared();
        });
    });
    writes.cancel();
    reads.cancel();
    EXPECT_EQ(rt().run([] { return 7; }), 7);
    EXPECT_EQ(inside, 0);
    m.unlock();
    rt().drain();
    EXPECT_EQ(inside, 2);
}

TEST_P(SharedTimedMutex, DeadlinesRacingWithUnlocksLoseNothing) {
    shared_timed_mutex m;
    long value = 0;
    std::atomic<long> written = 0;
    std::atomic<long> torn = 0;
    const auto hammer = [&](uint64_t seed) {
        prng random(seed);
        for (int i = scaled(1500); i > 0; --i) {
            const std::chrono::microseconds patience(random.below(40));
            if (random.one_in(3)) {
                if (random.one_in(4)) {
                    m.lock();
                } else if (!m.try_lock_for(patience)) {
                    continue;
                }
                ++value;
                ++written;
                if (random.one_in(8)) compute_for(5us);
                if (random.one_in(64)) sleep_for(10us);
                m.unlock();
            } else {
                if (random.one_in(4)) {
                    m.lock_shared();
                } else if (!m.try_lock_shared_for(patience)) {
                    continue;
                }
                const long before = value;
                if (random.one_in(8)) compute_for(5us);
                if (random.one_in(64)) sleep_for(10us);
                torn += value != before;
                m.unlock_shared();
                if (random.one_in(16)) spread_for_test::spread(m);
            }
        }
    };
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 2; ++t) threads.emplace_back(hammer, t);
    for (uint64_t g = 2; g < 8; ++g) rt().go([&, g] { hammer(g); });
    for (std::thread& t : threads) t.join();
    rt().drain();
    EXPECT_EQ(value, written);
    EXPECT_EQ(torn, 0);
    expect_free(m);
}

// Woken too late, and overtaken by a reader: the next writer must not stay asleep.
TEST_P(SharedTimedMutexOnOneProcessor, AWriterWokenTooLateWakesTheNextWriter) {
    const std::string order = rt().run([] {
        std::string events;
        shared_timed_mutex m;
        wait_group all;
        m.lock();
        all.go([&] { events += m.try_lock_for(2ms) ? '!' : 't'; });
        weft::yield();
        all.go([&] {
            m.lock();
            events += 'w';
            m.unlock();
        });
        weft::yield();     // Both wait now.
        m.unlock();        // Wakes the first.
        m.lock_shared();   // But we are still running.
        compute_for(3ms);  // Until its deadline has passed.
        weft::yield();     // It sees that it cannot get the lock, and gives up.
        events += 'r';
        EXPECT_FALSE(m.try_lock_shared()) << "the other writer is next";
        m.unlock_shared();
        all.wait();
        expect_free(m);
        return events;
    });
    EXPECT_EQ(order, "trw");
}

}  // namespace
}  // namespace weft::test
