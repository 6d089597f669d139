// shared_mutex_test.cc: many readers or one writer, green and plain threads, with readers that
// share the lock's word or are counted separately.

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/shared_mutex.h>
#include <weft/shared_timed_mutex.h>
#include <weft/weft.h>

#include "support/crossroads.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/spread.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using SharedMutex = procs_test;
WEFT_SWEEP(SharedMutex);

// Detects any thread that is inside together with a writer.
template <typename Lock>
struct guarded_value {
    Lock m;
    long value = 0;
    std::atomic<int> readers = 0;
    std::atomic<int> writers = 0;
    std::atomic<int> intruders = 0;

    template <typename F>
    void inside_shared(F&& body) {
        ++readers;
        if (writers != 0) ++intruders;
        const long before = value;
        body();
        if (value != before) ++intruders;
        --readers;
    }

    template <typename F>
    void inside_alone(F&& body) {
        if (writers++ != 0 || readers != 0) ++intruders;
        ++value;
        body();
        --writers;
    }
};

// Reads and writes in all available ways.
template <typename Lock>
long use_in_every_way(guarded_value<Lock>& g, int times, int writes_in_100, uint64_t seed) {
    prng random(seed);
    long written = 0;
    const auto linger = [&random] {
        if (random.one_in(16)) compute_for(3us);
        if (random.one_in(128)) sleep_for(10us);
    };
    for (int i = 0; i < times; ++i) {
        if (random.below(100) < writes_in_100) {
            if (random.one_in(3)) {
                if (!g.m.try_lock()) continue;
            } else {
                g.m.lock();
            }
            g.inside_alone(linger);
            ++written;
            g.m.unlock();
        } else {
            if (random.one_in(3)) {
                if (!g.m.try_lock_shared()) continue;
            } else {
                g.m.lock_shared();
            }
            g.inside_shared(linger);
            g.m.unlock_shared();
        }
    }
    return written;
}

template <typename Lock>
void expect_untouched(guarded_value<Lock>& g, long written) {
    EXPECT_EQ(g.intruders, 0);
    EXPECT_EQ(g.value, written);
    EXPECT_TRUE(g.m.try_lock());  // no bit is left set
    g.m.unlock();
    EXPECT_TRUE(g.m.try_lock_shared());
    g.m.unlock_shared();
}

TEST_P(SharedMutex, AWriterIsAlone) {
    for (const int writes : {1, 20, 80}) {
        guarded_value<shared_mutex> g;
        std::atomic<long> written = 0;
        rt().run([&] {
            wait_group all;
            for (uint64_t i = 0; i < 10; ++i) {
                all.go([&, i] { written += use_in_every_way(g, scaled(1500), writes, i); });
            }
            all.wait();
        });
        expect_untouched(g, written);
    }
}

TEST_P(SharedMutex, AWriterIsAloneAmongPlainThreads) {
    for (const int writes : {1, 30}) {
        guarded_value<shared_mutex> g;
        std::atomic<long> written = 0;
        std::vector<std::thread> threads;
        for (uint64_t t = 0; t < 3; ++t) {
            threads.emplace_back([&, t] { written += use_in_every_way(g, scaled(1500), writes, t); });
            rt().go([&, t] { written += use_in_every_way(g, scaled(1500), writes, 100 + t); });
        }
        for (std::thread& t : threads) t.join();
        rt().drain();
        expect_untouched(g, written);
    }
}

// The same while the readers are spread again and again.
TEST_P(SharedMutex, AWriterIsAloneAmongSpreadReaders) {
    guarded_value<shared_mutex> g;
    std::atomic<long> written = 0;
    std::atomic<bool> over = false;
    std::thread spreading([&] {
        while (!over) {
            spread_for_test::spread(g.m);
            std::this_thread::yield();
        }
    });
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 2; ++t) {
        threads.emplace_back([&, t] { written += use_in_every_way(g, scaled(2000), 10, t); });
    }
    for (uint64_t i = 0; i < 6; ++i) {
        rt().go([&, i] { written += use_in_every_way(g, scaled(2000), 10, 100 + i); });
    }
    for (std::thread& t : threads) t.join();
    rt().drain();
    over = true;
    spreading.join();
    expect_untouched(g, written);
}

// A reader may unlock on another processor than the one on which it locked.
TEST_P(SharedMutex, SpreadReadersMayMigrate) {
    guarded_value<shared_mutex> g;
    spread_for_test::spread(g.m);
    const crossroads cross;
    std::atomic<int> readers_left = 8;
    std::atomic<long> written = 0;
    for (int i = 0; i < 8; ++i) {
        rt().go([&] {
            for (int round = 0; round < scaled(100); ++round) {
                g.m.lock_shared();
                g.inside_shared([&] { cross.cross(); });
                g.m.unlock_shared();
                spread_for_test::spread(g.m);
            }
            --readers_left;
        });
    }
    rt().go([&] {
        while (readers_left != 0) {
            g.m.lock();
            g.inside_alone([] {});
            ++written;
            g.m.unlock();
            sleep_for(100us);
        }
    });
    rt().drain();
    expect_untouched(g, written);
}

TEST_P(SharedMutex, AllReadersMayBeInAtOnce) {
    for (const bool spread : {false, true}) {
        shared_mutex m;
        if (spread) spread_for_test::spread(m);
        constexpr int count = 200;
        std::atomic<int> inside = 0;
        const chan<int> leave;
        park(count, [&] {
            for (int i = 0; i < count; ++i) {
                rt().go([&] {
                    const std::shared_lock hold(m);
                    ++inside;
                    leave.recv();
                });
            }
        });
        EXPECT_EQ(inside, count);
        EXPECT_FALSE(m.try_lock());
        EXPECT_TRUE(m.try_lock_shared());
        m.unlock_shared();
        leave.close();
        rt().drain();
        EXPECT_TRUE(m.try_lock());
        m.unlock();
    }
}

TEST_P(SharedMutex, TryLockSharedFailsWhileAWriterHoldsOrWaits) {
    shared_mutex m;
    m.lock();
    EXPECT_FALSE(m.try_lock_shared());
    EXPECT_FALSE(m.try_lock());
    m.unlock();
    m.lock_shared();
    std::atomic<bool> written = false;
    park(1, [&] {
        rt().go([&] {
            const std::lock_guard hold(m);
            written = true;
        });
    });
    EXPECT_FALSE(m.try_lock_shared());
    EXPECT_FALSE(m.try_lock());
    EXPECT_FALSE(written);
    m.unlock_shared();
    rt().drain();
    EXPECT_TRUE(written);
    EXPECT_TRUE(m.try_lock_shared());
    m.unlock_shared();
}

TEST_P(SharedMutex, WaitingGreenThreadsDoNotHoldTheirProcessor) {
    shared_mutex m;
    m.lock();
    std::atomic<int> inside = 0;
    constexpr int waiters = 200;  // more than there are processors
    park(waiters, [&] {
        for (int i = 0; i < waiters; ++i) {
            rt().go([&, i] {
                if (i % 4 == 0) {
                    const std::lock_guard hold(m);
                    ++inside;
                } else {
                    const std::shared_lock hold(m);
                    ++inside;
                }
            });
        }
    });
    EXPECT_EQ(rt().run([] { return 7; }), 7);
    EXPECT_EQ(inside, 0);
    m.unlock();
    rt().drain();
    EXPECT_EQ(inside, waiters);
}

// The last user destroys what the lock guards, and the lock itself, right after its unlock. Readers
// left before it got in, but may not have returned from unlock_shared.
TEST_P(SharedMutex, MayBeDestroyedRightAfterTheLastUnlock) {
    struct shared {
        shared_mutex m;
        std::atomic<int> readers_done = 0;
        int writers = 2;
    };

    const int rounds = scaled(1000);
    rt().run([rounds] {
        for (int i = 0; i < rounds; ++i) {
            auto* object = new shared;
            if (i % 2 == 0) spread_for_test::spread(object->m);
            wait_group all;
            for (int r = 0; r < 2; ++r) {
                all.go([object] {
                    object->m.lock_shared();
                    ++object->readers_done;
                    object->m.unlock_shared();
                });
            }
            for (int w = 0; w < 2; ++w) {
                all.go([object] {
                    for (;;) {
                        object->m.lock();
                        const bool wait_for_readers = object->readers_done != 2;
                        const bool last = !wait_for_readers && --object->writers == 0;
                        object->m.unlock();
                        if (last) delete object;
                        if (!wait_for_readers) return;
                        weft::yield();
                    }
                });
            }
            all.wait();
        }
    });
}

// Readers that collide are counted separately, and a writer brings them together again.
TEST_P(SharedMutex, ReadersSpreadWhenTheyCollide) {
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor: nobody collides";
    shared_mutex m;
    std::atomic<bool> over = false;
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            while (!over) {
                m.lock_shared();
                m.unlock_shared();
            }
        });
    }
    eventually([&] { return spread_for_test::is_spread(m); });
    m.lock();
    EXPECT_FALSE(spread_for_test::is_spread(m));
    m.unlock();
    over = true;
    for (std::thread& t : threads) t.join();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

}  // namespace
}  // namespace weft::test
