// shared_mutex_fairness_test.cc: neither readers nor writers starve: which enters before which, and
// the limits on overtaking.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/shared_mutex.h>
#include <weft/weft.h>

#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/spread.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using SharedMutexFairness = procs_test;
WEFT_SWEEP(SharedMutexFairness);

class SharedMutexOnOneProcessor : private calm, public procs_test {};

WEFT_SWEEP_OVER(SharedMutexOnOneProcessor, 1U);

// On one processor: the order in which threads get the lock. Each started one runs until it waits.
struct visits {
    shared_mutex m;
    std::string order;
    wait_group all;

    void start_reader(char name, int yields = 0) {
        all.go([this, name, yields] {
            const std::shared_lock hold(m);
            order += name;
            for (int i = 0; i < yields; ++i) weft::yield();
        });
        weft::yield();
    }

    void start_writer(char name, int yields = 0) {
        all.go([this, name, yields] {
            const std::lock_guard hold(m);
            order += name;
            for (int i = 0; i < yields; ++i) weft::yield();
        });
        weft::yield();
    }
};

TEST_P(SharedMutexOnOneProcessor, AWriterThatWaitsKeepsNewReadersOut) {
    for (const bool spread : {false, true}) {
        EXPECT_EQ(rt().run([spread] {
            visits v;
            if (spread) spread_for_test::spread(v.m);
            v.m.lock_shared();
            v.start_reader('a');
            v.start_writer('w');
            v.start_reader('b');
            EXPECT_FALSE(v.m.try_lock_shared());
            v.m.unlock_shared();
            v.all.wait();
            return v.order;
        }),
                  "awb");
    }
}

// Woken together, they compete with newcomers.
TEST_P(SharedMutexOnOneProcessor, ARunningWriterPrecedesWokenReaders) {
    EXPECT_EQ(rt().run([] {
        visits v;
        v.m.lock();
        v.start_reader('a');
        v.start_reader('b');
        v.m.unlock();
        v.m.lock();     // We are still running: ours again.
        weft::yield();  // They see that, and wait again.
        v.order += 'm';
        v.m.unlock();
        v.all.wait();
        return v.order.substr(0, 1);
    }),
              "m");
}

// They do not compete for ever.
TEST_P(SharedMutexOnOneProcessor, AfterAMillisecondAllReadersPrecedeTheNextWriter) {
    EXPECT_EQ(rt().run([] {
        visits v;
        v.m.lock();
        v.start_reader('a', 3);
        v.start_reader('b', 3);
        compute_for(3ms);
        v.m.unlock();   // Wakes them.
        v.m.lock();     // But we are first.
        weft::yield();  // They see that, and have waited too long.
        v.start_writer('w');
        v.m.unlock();  // So now they are let in.
        EXPECT_FALSE(v.m.try_lock());
        EXPECT_FALSE(v.m.try_lock_shared()) << "the writer waits for the two to leave";
        v.start_reader('c');  // too late
        v.all.wait();
        EXPECT_TRUE(v.m.try_lock());
        v.m.unlock();
        std::sort(v.order.begin(), v.order.begin() + 2);  // together: either may run first
        return v.order;
    }),
              "abwc");
}

// Without readers, a freed lock goes to the first thread that locks it, as with a mutex.
TEST_P(SharedMutexOnOneProcessor, ARunningWriterPrecedesAWokenWriter) {
    EXPECT_EQ(rt().run([] {
        visits v;
        v.m.lock();
        v.start_writer('w');
        v.m.unlock();
        v.m.lock();  // we are still running: ours again
        v.order += 'm';
        v.m.unlock();
        v.all.wait();
        return v.order;
    }),
              "mw");
}

TEST_P(SharedMutexOnOneProcessor, AfterAMillisecondTheLockIsHandedToTheWriter) {
    EXPECT_EQ(rt().run([] {
        visits v;
        v.m.lock();
        v.start_writer('w');
        compute_for(3ms);
        v.m.unlock();   // Wakes it.
        v.m.lock();     // But we are first.
        weft::yield();  // It sees that, and has waited too long.
        v.m.unlock();   // So now it is handed over.
        EXPECT_FALSE(v.m.try_lock());
        EXPECT_FALSE(v.m.try_lock_shared());
        v.m.lock();
        v.order += 'm';
        v.m.unlock();
        v.all.wait();
        EXPECT_TRUE(v.m.try_lock());  // and starvation has ended
        v.m.unlock();
        return v.order;
    }),
              "wm");
}

// The bound for readers. Of the writers that enter after a reader has waited for a millisecond, two
// precede it, and those that run between its wake-up and its turn.
TEST_P(SharedMutexOnOneProcessor, AfterAMillisecondAtMostTwoWritersPrecedeAReader) {
    using clock = std::chrono::steady_clock;
    constexpr int writers = 3;
    int most = 0;
    clock::duration longest{};
    rt().run([&] {
        shared_mutex m;
        clock::time_point waits_since = clock::time_point::max();
        int before_it = 0;
        bool over = false;
        wait_group all;
        for (int w = 0; w < writers; ++w) {
            all.go([&] {
                while (!over) {
                    const std::lock_guard hold(m);
                    if (clock::now() - 1ms > waits_since) ++before_it;
                    compute_for(100us);
                    weft::yield();  // a woken waiter finds the lock taken
                }
            });
        }
        all.go([&] {
            for (int i = 0; i < 20; ++i) {
                before_it = 0;
                waits_since = clock::now();
                m.lock_shared();
                longest = std::max(longest, clock::now() - waits_since);
                waits_since = clock::time_point::max();
                most = std::max(most, before_it);
                m.unlock_shared();
                weft::yield();
            }
            over = true;
        });
        all.wait();
    });
    EXPECT_LE(most, 2 + writers);
    EXPECT_GT(longest, 1ms) << "nobody ever had to wait that long: nothing was tested";
}

// The bound for a writer among readers: no reader that came later enters before it.
TEST_P(SharedMutexOnOneProcessor, NoReaderOvertakesAWriter) {
    for (const bool spread : {false, true}) {
        const int most = rt().run([spread] {
            shared_mutex m;
            int entered = 0;
            int most_before_the_writer = 0;
            bool over = false;
            wait_group all;
            // At any time at least one of them holds the lock.
            for (int r = 0; r < 4; ++r) {
                all.go([&] {
                    while (!over) {
                        const std::shared_lock hold(m);
                        ++entered;
                        weft::yield();
                        weft::yield();
                    }
                });
            }
            all.go([&] {
                for (int i = 0; i < scaled(2000); ++i) {
                    weft::yield();
                    if (spread) spread_for_test::spread(m);
                    const int before = entered;
                    const std::lock_guard hold(m);
                    most_before_the_writer = std::max(most_before_the_writer, entered - before);
                }
                over = true;
            });
            all.wait();
            return most_before_the_writer;
        });
        EXPECT_EQ(most, 0);
    }
}

// Readers come and go without a pause, on all processors and in two plain threads. A writer gets in
// repeatedly.
TEST_P(SharedMutexFairness, AWriterIsNotStarvedByReaders) {
    shared_mutex m;
    std::atomic<bool> over = false;
    const auto read = [&] {
        while (!over) {
            m.lock_shared();
            compute_for(5us);
            m.unlock_shared();
        }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) threads.emplace_back(read);
    for (unsigned g = 0; g < 2 * std::min(procs(), 4U); ++g) {
        rt().go([&] {
            while (!over) {
                const std::shared_lock hold(m);
                compute_for(5us);
                weft::yield();
            }
        });
    }
    std::thread writing([&] {
        for (int i = 0; i < 20; ++i) {
            m.lock();
            m.unlock();
        }
    });
    rt().run([&] {
        for (int i = 0; i < 20; ++i) {
            const std::lock_guard hold(m);
            weft::yield();
        }
    });
    writing.join();
    over = true;
    for (std::thread& t : threads) t.join();
    rt().drain();
}

TEST_P(SharedMutexFairness, AReaderIsNotStarvedByWriters) {
    shared_mutex m;
    std::atomic<bool> over = false;
    std::thread writing([&] {
        while (!over) {
            m.lock();
            compute_for(20us);
            m.unlock();
        }
    });
    for (unsigned g = 0; g < 2 * std::min(procs(), 4U); ++g) {
        rt().go([&] {
            while (!over) {
                m.lock();
                compute_for(20us);
                m.unlock();
                weft::yield();
            }
        });
    }
    std::thread reading([&] {
        for (int i = 0; i < 20; ++i) {
            m.lock_shared();
            m.unlock_shared();
        }
    });
    rt().run([&] {
        for (int i = 0; i < 20; ++i) {
            const std::shared_lock hold(m);
            weft::yield();
        }
    });
    reading.join();
    over = true;
    writing.join();
    rt().drain();
}

// As with a mutex: one thread writes almost all the time, the other needs the lock briefly.
TEST_P(SharedMutexFairness, ABriefWriterIsNotStarvedByALongOne) {
    rt().run([] {
        shared_mutex m;
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

}  // namespace
}  // namespace weft::test
