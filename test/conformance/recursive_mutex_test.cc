// recursive_mutex_test.cc: a mutex that its holder may lock again. The holder is the green thread,
// on whatever thread it runs, or the plain thread.

#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <weft/recursive_mutex.h>
#include <weft/weft.h>

#include "support/crossroads.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using RecursiveMutex = procs_test;
WEFT_SWEEP(RecursiveMutex);

static_assert(!std::is_copy_constructible_v<recursive_mutex>);
static_assert(sizeof(recursive_mutex) <= 48 && sizeof(recursive_timed_mutex) == sizeof(recursive_mutex));

constinit recursive_mutex recursive_before_main;

template <typename Mutex>
bool is_free_for_others(Mutex& m) {
    bool taken = false;
    std::thread([&] {
        taken = m.try_lock();
        if (taken) m.unlock();
    }).join();
    return taken;
}

TEST_P(RecursiveMutex, IsFreeWhenUnlockedAsOftenAsLocked) {
    const auto use = [] {
        recursive_mutex m;
        m.lock();
        EXPECT_TRUE(m.try_lock());
        m.lock();
        for (int held = 3; held > 0; --held) {
            EXPECT_FALSE(is_free_for_others(m));
            m.unlock();
        }
        EXPECT_TRUE(is_free_for_others(m));
    };
    rt().run(use);
    use();
}

TEST_P(RecursiveMutex, BelongsToTheGreenThreadNotToItsOsThread) {
    recursive_mutex m;
    std::atomic<int> inside = 0;
    std::atomic<int> intruders = 0;
    std::atomic<bool> over = false;
    const crossroads cross;
    // They make the holder move from one OS thread to another.
    for (int i = 0; i < 3; ++i) {
        rt().go([&] {
            while (!over) cross.cross();
        });
    }
    rt().run([&] {
        wait_group all;
        for (int g = 0; g < 4; ++g) {
            all.go([&] {
                for (int i = 0; i < scaled(200); ++i) {
                    const std::lock_guard outer(m);
                    intruders += inside.fetch_add(1);
                    cross.cross();
                    {
                        const std::lock_guard inner(m);
                        cross.cross();
                    }
                    --inside;
                }
            });
        }
        all.wait();
    });
    over = true;
    rt().drain();
    EXPECT_EQ(intruders, 0);
}

TEST_P(RecursiveMutex, DistinguishesGreenThreadsOnOneOsThread) {
    rt().run([] {
        recursive_mutex m;
        m.lock();
        wait_group other;
        other.go([&] { EXPECT_FALSE(m.try_lock()); });
        other.wait();
        m.unlock();
    });
}

TEST_P(RecursiveMutex, OnlyOneHolderIsInsideAmongPlainThreads) {
    recursive_mutex m;
    long value = 0;
    const int each = scaled(3000);
    const auto hammer = [&](uint64_t seed) {
        prng random(seed);
        for (int i = 0; i < each; ++i) {
            const int depth = 1 + random.below(3);
            for (int d = 0; d < depth; ++d) m.lock();
            ++value;
            for (int d = 0; d < depth; ++d) m.unlock();
        }
    };
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 2; ++t) threads.emplace_back(hammer, t);
    for (uint64_t g = 2; g < 8; ++g) rt().go([&, g] { hammer(g); });
    for (std::thread& t : threads) t.join();
    rt().drain();
    EXPECT_EQ(value, 8L * each);
}

TEST_P(RecursiveMutex, StandardLocksWorkWithIt) {
    rt().run([] {
        recursive_timed_mutex m;
        const std::unique_lock outer(m);
        const std::unique_lock inner(m, 1h);
        EXPECT_TRUE(inner.owns_lock());
        recursive_mutex other;
        const std::scoped_lock both(m, other);
    });
}

TEST_P(RecursiveMutex, TimedLocksTimeOutOnlyOnOtherHolders) {
    recursive_timed_mutex m;
    const std::lock_guard hold(m);
    EXPECT_TRUE(m.try_lock_for(0s));  // ours already
    m.unlock();
    EXPECT_TRUE(m.try_lock_until(std::chrono::steady_clock::now()));
    m.unlock();
    rt().run([&] {
        EXPECT_FALSE(m.try_lock_for(0s));
        EXPECT_FALSE(m.try_lock_for(2ms));
        EXPECT_FALSE(m.try_lock_until(std::chrono::steady_clock::now() + 1ms));
    });
}

TEST_P(RecursiveMutex, TimedLocksSucceedIfUnlockedInTime) {
    recursive_timed_mutex m;
    m.lock();
    m.lock();
    std::atomic<bool> got = false;
    park(1, [&] {
        rt().go([&] {
            got = m.try_lock_for(1h);
            m.lock();
            m.unlock();
            if (got) m.unlock();
        });
    });
    m.unlock();
    m.unlock();
    rt().drain();
    EXPECT_TRUE(got);
}

TEST(RecursiveMutexDepth, BeyondTheLimitLockThrowsAndTryLockFails) {
    recursive_timed_mutex m;
    for (uint32_t i = 0; i < recursive_mutex::max_depth; ++i) m.lock();
    EXPECT_FALSE(m.try_lock());
    EXPECT_FALSE(m.try_lock_for(1h));
    try {
        m.lock();
        ADD_FAILURE() << "it should have thrown";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::resource_unavailable_try_again);
    }
    for (uint32_t i = 0; i < recursive_mutex::max_depth; ++i) m.unlock();
    EXPECT_TRUE(is_free_for_others(m));
}

}  // namespace
}  // namespace weft::test
