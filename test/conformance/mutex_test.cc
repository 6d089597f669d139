// mutex_test.cc: mutual exclusion between green threads and plain threads, and which waiter gets a
// contended mutex.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using Mutex = procs_test;
WEFT_SWEEP(Mutex);

class MutexOnOneProcessor : private calm, public procs_test {};

WEFT_SWEEP_OVER(MutexOnOneProcessor, 1U);

static_assert(!std::is_copy_constructible_v<mutex> && !std::is_move_constructible_v<mutex>);

// Counts without atomics: correct only under mutual exclusion.
struct guarded_counter {
    mutex m;
    long value = 0;
    bool inside = false;
    int intruders = 0;

    void add(bool give_way) {
        const std::lock_guard hold(m);
        intruders += inside;
        inside = true;
        if (give_way) weft::yield();
        ++value;
        inside = false;
    }
};

TEST_P(Mutex, OnlyOneIsInside) {
    guarded_counter c;
    constexpr int parties = 10;
    const int each = scaled(5000);
    rt().run([&] {
        wait_group all;
        for (int p = 0; p < parties; ++p) {
            all.go([&] {
                for (int i = 0; i < each; ++i) c.add(i % 16 == 0);
            });
        }
        all.wait();
    });
    EXPECT_EQ(c.value, long{parties} * each);
    EXPECT_EQ(c.intruders, 0);
}

TEST_P(Mutex, OnlyOneHolderIsInsideAmongPlainThreads) {
    guarded_counter c;
    const int each = scaled(5000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < each; ++i) c.add(false);
        });
        rt().go([&] {
            for (int i = 0; i < each; ++i) c.add(i % 16 == 0);
        });
    }
    for (std::thread& t : threads) t.join();
    rt().drain();
    EXPECT_EQ(c.value, 6L * each);
    EXPECT_EQ(c.intruders, 0);
}

TEST_P(Mutex, TryLockFailsWhileLockedAndSucceedsAfterwards) {
    rt().run([] {
        mutex m;
        EXPECT_TRUE(m.try_lock());
        EXPECT_FALSE(m.try_lock());
        m.unlock();
        EXPECT_TRUE(m.try_lock());
        m.unlock();
        m.lock();
        EXPECT_FALSE(m.try_lock());
        m.unlock();
    });
}

TEST_P(Mutex, TryLockNeverEntersAnOccupiedMutex) {
    long value = 0;
    std::atomic<long> entered = 0;
    mutex m;
    const int each = scaled(5000);
    rt().run([&] {
        wait_group all;
        for (int p = 0; p < 8; ++p) {
            all.go([&, p] {
                for (int i = 0; i < each; ++i) {
                    if (p % 2 == 0) {
                        m.lock();
                    } else if (!m.try_lock()) {
                        weft::yield();
                        continue;
                    }
                    ++value;
                    ++entered;
                    m.unlock();
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(value, entered);
    EXPECT_GE(value, 4L * each);
}

TEST_P(Mutex, StandardLocksWorkWithIt) {
    rt().run([] {
        mutex a;
        mutex b;
        {
            std::unique_lock hold(a);
            EXPECT_TRUE(hold.owns_lock());
            hold.unlock();
            EXPECT_TRUE(hold.try_lock());
        }
        std::unique_lock later(a, std::defer_lock);
        EXPECT_FALSE(later.owns_lock());
        const std::scoped_lock both(a, b);
        EXPECT_FALSE(a.try_lock());
        EXPECT_FALSE(b.try_lock());
    });
}

TEST_P(Mutex, TwoMutexesAreLockedTogetherWithoutDeadlock) {
    const int each = scaled(1000);
    mutex a;
    mutex b;
    long value = 0;
    rt().run([&] {
        wait_group all;
        for (int p = 0; p < 6; ++p) {
            all.go([&, p] {
                for (int i = 0; i < each; ++i) {
                    const std::scoped_lock hold(p % 2 == 0 ? a : b, p % 2 == 0 ? b : a);
                    ++value;
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(value, 6L * each);
}

TEST_P(Mutex, AnotherGreenThreadMayUnlock) {
    rt().run([] {
        mutex m;
        m.lock();
        go([&m] { m.unlock(); });
        m.lock();  // after that unlock
        m.unlock();
    });
    // And a plain thread unlocks what a green thread locked.
    mutex m;
    rt().run([&] { m.lock(); });
    m.unlock();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

TEST_P(Mutex, AWaitingGreenThreadDoesNotHoldItsProcessor) {
    mutex m;
    m.lock();
    std::atomic<int> inside = 0;
    constexpr int waiters = 200;  // more than there are processors
    park(waiters, [&] {
        for (int i = 0; i < waiters; ++i) {
            rt().go([&] {
                const std::lock_guard hold(m);
                ++inside;
            });
        }
    });
    EXPECT_EQ(rt().run([] { return 7; }), 7);
    EXPECT_EQ(inside, 0);
    m.unlock();
    rt().drain();
    EXPECT_EQ(inside, waiters);
}

// The last user destroys what the mutex guards, and the mutex itself, right after its unlock.
TEST_P(Mutex, MayBeDestroyedRightAfterTheLastUnlock) {
    struct shared {
        mutex m;
        int users = 4;
    };

    const int rounds = scaled(2000);
    rt().run([rounds] {
        for (int i = 0; i < rounds; ++i) {
            auto* object = new shared;
            wait_group all;
            for (int u = 0; u < 4; ++u) {
                all.go([object] {
                    object->m.lock();
                    const bool last = --object->users == 0;
                    object->m.unlock();
                    if (last) delete object;
                });
            }
            all.wait();
        }
    });
}

// One G holds the mutex almost always, and sleeps with it. Another one needs it briefly, ten times,
// and gets it.
TEST_P(Mutex, ABriefUserIsNotStarvedByALongHolder) {
    rt().run([] {
        mutex m;
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
            const std::lock_guard hold(m);
        }
        stop = true;
        holder.wait();
    });
}

// The same with holders that compute, one for each processor.
TEST_P(Mutex, ABriefUserIsNotStarvedByBusyHolders) {
    rt().run([this] {
        mutex m;
        std::atomic<bool> stop = false;
        wait_group holders;
        for (unsigned i = 0; i < procs(); ++i) {
            holders.go([&] {
                while (!stop) {
                    m.lock();
                    compute_for(50us);
                    m.unlock();
                    weft::yield();
                }
            });
        }
        for (int i = 0; i < 5; ++i) {
            sleep_for(100us);
            const std::lock_guard hold(m);
        }
        stop = true;
        holders.wait();
    });
}

// A mutex is unlocked while a G waits for it: the waiter is woken, but the first thread to lock
// gets it.
TEST_P(MutexOnOneProcessor, ARunningThreadTakesAFreedMutexBeforeTheWaiter) {
    const std::vector<char> order = rt().run([] {
        std::vector<char> entered;
        mutex m;
        wait_group all;
        m.lock();
        all.go([&] {
            m.lock();
            entered.push_back('w');
            m.unlock();
        });
        weft::yield();  // it waits now
        m.unlock();
        m.lock();  // we are still running: ours again
        entered.push_back('b');
        m.unlock();
        all.wait();
        return entered;
    });
    EXPECT_EQ(order, (std::vector<char>{'b', 'w'}));
}

// A waiter that was woken, found the mutex taken, and has waited for more than a millisecond gets
// it handed over.
TEST_P(MutexOnOneProcessor, AfterAMillisecondTheMutexIsHandedToTheWaiter) {
    const std::vector<char> order = rt().run([] {
        std::vector<char> entered;
        mutex m;
        wait_group all;
        m.lock();
        all.go([&] {
            m.lock();
            entered.push_back('w');
            m.unlock();
        });
        weft::yield();  // It waits now.
        compute_for(3ms);
        m.unlock();     // Wakes it.
        m.lock();       // But we are first.
        weft::yield();  // It sees that, and has waited too long.
        m.unlock();     // So now it is handed over.
        const bool taken = !m.try_lock();
        m.lock();
        entered.push_back('b');
        m.unlock();
        all.wait();
        if (!taken) entered.push_back('!');
        return entered;
    });
    EXPECT_EQ(order, (std::vector<char>{'w', 'b'}));
}

// Afterwards the mutex is back in normal mode.
TEST_P(MutexOnOneProcessor, StarvationEndsWhenTheQueueIsServed) {
    rt().run([] {
        mutex m;
        wait_group all;
        m.lock();
        for (int i = 0; i < 3; ++i) {
            all.go([&] { const std::lock_guard hold(m); });
        }
        weft::yield();
        compute_for(3ms);
        m.unlock();
        m.lock();
        weft::yield();
        m.unlock();
        all.wait();
        EXPECT_TRUE(m.try_lock());
        EXPECT_FALSE(m.try_lock());
        m.unlock();
    });
}

}  // namespace
}  // namespace weft::test
