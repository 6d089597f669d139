// priority_test.cc: three classes of green threads: which run first, and that none waits for ever.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using Priority = procs_test;
WEFT_SWEEP(Priority);

// Only a single processor guarantees an order.
class PriorityOnOneProcessor : private calm, public procs_test {};

WEFT_SWEEP_OVER(PriorityOnOneProcessor, 1U);

// Appends to a text that only one P writes.
void say(wait_group& all, std::string& text, char c, priority p) {
    all.go({.priority = p}, [&text, c] { text += c; });
}

// Green threads of one class that only yield, and count their turns, until they are stopped.
class workers {
public:
    workers(wait_group& all, int n, priority p) {
        for (int i = 0; i < n; ++i) {
            all.go({.priority = p}, [this] {
                while (!over) {
                    ++turns;
                    weft::yield();
                }
            });
        }
    }

    std::atomic<bool> over = false;
    std::atomic<uint64_t> turns = 0;
};

TEST_P(PriorityOnOneProcessor, HighRunsBeforeNormalBeforeLow) {
    EXPECT_EQ(rt().run([] {
        std::string order;
        wait_group all;
        for (const char c : {'a', 'b', 'c'}) say(all, order, c, priority::low);
        for (const char c : {'m', 'n', 'o'}) say(all, order, c, priority::normal);
        for (const char c : {'x', 'y', 'z'}) say(all, order, c, priority::high);
        all.wait();
        std::sort(order.begin() + 3, order.begin() + 6);  // the last one started may run first
        return order;
    }),
              "xyzmnoabc");
}

TEST_P(PriorityOnOneProcessor, AReadiedGJoinsTheQueueOfItsClass) {
    EXPECT_EQ(rt().run([] {
        std::string order;
        wait_group all;
        const chan<int> high(1);
        const chan<int> low(1);
        all.go({.priority = priority::high}, [&, high] {
            high.recv();
            order += 'h';
        });
        all.go({.priority = priority::low}, [&, low] {
            low.recv();
            order += 'l';
        });
        weft::yield();
        sleep_for(1ms);  // now the low one waits, too
        low.send(1);
        say(all, order, 'n', priority::normal);
        high.send(1);
        all.wait();
        return order;
    }),
              "hnl");
}

// The bound for all classes but high.
TEST_P(PriorityOnOneProcessor, OneInSeventeenTicksIsNotHigh) {
    uint64_t longest = 0;
    rt().run([&] {
        wait_group all;
        workers high(all, 3, priority::high);
        for (int i = 0; i < scaled(500); ++i) {
            const uint64_t before = high.turns;
            weft::yield();
            longest = std::max(longest, high.turns - before);
        }
        high.over = true;
        all.wait();
    });
    EXPECT_EQ(longest, 16U);
}

// The bound for low ones, with all other classes competing.
TEST_P(PriorityOnOneProcessor, OneInTwoHundredTicksIsLow) {
    uint64_t longest = 0;
    int low_turns = 0;
    rt().run([&] {
        wait_group all;
        workers high(all, 2, priority::high);
        workers normal(all, 5, priority::normal);
        all.go({.priority = priority::low}, [&] {
            for (int i = 0; i < scaled(300); ++i) {
                const uint64_t before = high.turns + normal.turns;
                weft::yield();
                longest = std::max(longest, high.turns + normal.turns - before);
                ++low_turns;
            }
            high.over = true;
            normal.over = true;
        });
        all.wait();
    });
    EXPECT_EQ(low_turns, scaled(300));
    EXPECT_LT(longest, 200U);
    EXPECT_GE(longest, 60U) << "low ones have more turns than they are meant to have";
}

// Normal Gs do not lose their place in the global queue to those of other classes.
TEST_P(PriorityOnOneProcessor, TheGlobalQueueIsServedBesideAllClasses) {
    rt().run([&] {
        wait_group all;
        workers high(all, 2, priority::high);
        workers normal(all, 2, priority::normal);
        workers low(all, 2, priority::low);
        const chan<int> c;
        std::thread outside([c] {
            for (int i = 0; i < scaled(100); ++i) c.send(i);  // wakes us from outside, through the global queue
            c.close();
        });
        int sum = 0;
        while (c.recv()) ++sum;
        EXPECT_EQ(sum, scaled(100));
        high.over = normal.over = low.over = true;
        all.wait();
        outside.join();
    });
}

TEST_P(PriorityOnOneProcessor, AnExternalHighGRunsBeforeQueuedGs) {
    std::string order;
    std::mutex order_lock;
    const auto add = [&](char c) {
        const std::lock_guard hold(order_lock);
        order += c;
    };
    std::atomic<bool> busy = false;
    std::atomic<bool> free = false;
    rt().go([&] {
        for (int i = 0; i < 40; ++i) go([&] { add('n'); });
        busy = true;
        while (!free) {}
    });
    eventually([&] { return busy.load(); });
    rt().go({.priority = priority::low}, [&] { add('l'); });
    rt().go([&] { add('o'); });
    rt().go({.priority = priority::high}, [&] { add('h'); });
    free = true;
    rt().drain();
    EXPECT_EQ(order.front(), 'h');
    EXPECT_EQ(order.back(), 'l');
    EXPECT_EQ(order.size(), 43U);
}

// A P that runs normal Gs notices a high one at its next scheduling point, however long its queue.
TEST_P(PriorityOnOneProcessor, AYieldRunsAnExternalHighGAtOnce) {
    std::atomic<bool> queued = false;
    std::atomic<bool> ran = false;
    std::atomic<int> yields = -1;
    rt().go([&] {
        wait_group others;
        for (int i = 0; i < 50; ++i)
            others.go([&] {
                while (!ran) weft::yield();
            });
        while (!queued) {}
        for (yields = 1; weft::yield(), !ran; ++yields) {}
        others.wait();
    });
    rt().go({.priority = priority::high}, [&] { ran = true; });
    queued = true;
    rt().drain();
    EXPECT_EQ(yields, 1);
}

// ---- Priority inheritance.

// The turns of others while a high G waits for a mutex whose low holder yields `yields` times
// before it unlocks.
uint64_t others_turns_while_a_high_one_waits(int yields, bool through_another) {
    wait_group all;
    mutex first;
    mutex second;
    std::atomic<bool> locked = false;
    std::atomic<bool> both_locked = false;
    std::atomic<bool> waits = false;
    all.go({.priority = priority::low}, [&] {
        const std::lock_guard hold(first);
        locked = true;
        while (!waits) weft::yield();
        for (int i = 0; i < yields; ++i) weft::yield();
    });
    while (!locked) sleep_for(100us);
    if (through_another) {
        all.go({.priority = priority::low}, [&] {
            const std::lock_guard hold(second);
            both_locked = true;
            const std::lock_guard wait(first);
        });
        while (!both_locked) sleep_for(100us);
        sleep_for(100us);  // now it waits
    }
    workers normal(all, 10, priority::normal);
    uint64_t turns = 0;
    all.go({.priority = priority::high}, [&] {
        const uint64_t before = normal.turns;
        waits = true;
        const std::lock_guard hold(through_another ? second : first);
        turns = normal.turns - before;
        normal.over = true;
    });
    all.wait();
    return turns;
}

// At most 200 turns until the holder is queued again, then one of 17. Without inheritance: more
// than a hundred turns for each of its yields.
TEST_P(PriorityOnOneProcessor, TheHolderOfAMutexInheritsItsWaitersClass) {
    EXPECT_LT(rt().run([] { return others_turns_while_a_high_one_waits(scaled(1000), false); }),
              400U + static_cast<unsigned>(scaled(1000)) / 8U);
}

TEST_P(PriorityOnOneProcessor, InheritanceFollowsAChainOfHolders) {
    EXPECT_LT(rt().run([] { return others_turns_while_a_high_one_waits(scaled(1000), true); }),
              600U + static_cast<unsigned>(scaled(1000)) / 8U);
}

// The other order: the high G waits already when the mutex is handed to a low one.
TEST_P(PriorityOnOneProcessor, AHandedOffMutexBringsTheClassOfItsWaiters) {
    uint64_t turns = 0;
    rt().run([&] {
        uint64_t before = 0;
        bool got_it = false;
        wait_group all;
        mutex m;
        m.lock();
        all.go({.priority = priority::low}, [&] {
            const std::lock_guard hold(m);
            for (int i = 0; i < scaled(1000); ++i) weft::yield();
        });
        sleep_for(2ms);  // It waits, and has waited for long.
        m.unlock();      // Wakes it.
        m.lock();        // But we are first.
        sleep_for(2ms);  // So it starves, and will be handed the mutex.
        workers normal(all, 10, priority::normal);
        all.go({.priority = priority::high}, [&] {
            const std::lock_guard hold(m);
            turns = normal.turns - before;
            got_it = true;
            normal.over = true;
        });
        weft::yield();  // it waits
        EXPECT_FALSE(got_it);
        before = normal.turns;
        m.unlock();
        all.wait();
    });
    EXPECT_LT(turns, 400U + static_cast<unsigned>(scaled(1000)) / 8U);
}

// The turns of others while a G of class `waits` waits for a lock. Its holder, of class `holds`, is
// queued, and unlocks in its next turn.
template <typename Lock, typename Wait>
uint64_t others_turns_before_a_queued_holder(priority holds, priority waits, Wait wait) {
    wait_group all;
    Lock lock;
    bool locked = false;
    all.go({.priority = holds}, [&] {
        lock.lock();
        locked = true;
        weft::yield();
        lock.unlock();
    });
    while (!locked) weft::yield();
    workers normal(all, 50, priority::normal);
    uint64_t turns = 0;
    all.go({.priority = waits}, [&] {
        const uint64_t before = normal.turns;
        wait(lock);
        turns = normal.turns - before;
        normal.over = true;
    });
    all.wait();
    return turns;
}

template <typename Lock>
void wait_alone(Lock& lock) {
    const std::lock_guard hold(lock);
}

void wait_shared(shared_mutex& lock) { const std::shared_lock hold(lock); }

// Without inheritance, each of the fifty others would have several turns before the holder.
constexpr uint64_t at_once = 20;

TEST_P(PriorityOnOneProcessor, AQueuedLowHolderIsRequeuedAtOnce) {
    rt().run([] {
        for (const priority waits : {priority::high, priority::normal}) {
            EXPECT_LT(others_turns_before_a_queued_holder<mutex>(priority::low, waits, wait_alone<mutex>), at_once)
                << (waits == priority::high ? "high" : "normal");
        }
    });
}

TEST_P(PriorityOnOneProcessor, AQueuedNormalHolderIsRequeuedAtOnce) {
    rt().run([] {
        EXPECT_LT(others_turns_before_a_queued_holder<mutex>(priority::normal, priority::high, wait_alone<mutex>),
                  at_once);
    });
}

TEST_P(PriorityOnOneProcessor, AWriterInheritsTheClassOfItsWaiters) {
    rt().run([] {
        for (const priority holds : {priority::low, priority::normal}) {
            EXPECT_LT(
                others_turns_before_a_queued_holder<shared_mutex>(holds, priority::high, wait_alone<shared_mutex>),
                at_once);
            EXPECT_LT(others_turns_before_a_queued_holder<shared_mutex>(holds, priority::high, wait_shared), at_once);
        }
    });
}

// Like AHandedOffMutexBringsTheClassOfItsWaiters. The inherited class ends with
// the lock.
TEST_P(PriorityOnOneProcessor, AHandedOffSharedMutexBringsTheClassOfItsWaiters) {
    rt().run([] {
        shared_mutex m;
        wait_group all;
        bool got_it = false;
        bool others_over = false;
        m.lock_shared();
        all.go({.priority = priority::low}, [&] {
            m.lock();  // handed over by the last reader
            for (int i = 0; i < 3; ++i) weft::yield();
            EXPECT_FALSE(others_over);
            m.unlock();
        });
        sleep_for(2ms);  // it waits
        all.go({.priority = priority::high}, [&] {
            m.lock_shared();
            got_it = true;
            m.unlock_shared();
        });
        weft::yield();  // it waits, too
        EXPECT_FALSE(got_it);
        all.go([&] {
            for (int i = 0; i < 100; ++i) weft::yield();
            others_over = true;
        });
        m.unlock_shared();
        all.wait();
        EXPECT_TRUE(got_it);
    });
}

TEST_P(PriorityOnOneProcessor, InheritanceEndsWithTheLastMutex) {
    uint64_t with = 0;
    uint64_t after = 0;
    rt().run([&] {
        wait_group all;
        mutex m;
        mutex other;
        workers normal(all, 5, priority::normal);
        const auto turns_of_others = [&](int yields) {
            const uint64_t before = normal.turns;
            for (int i = 0; i < yields; ++i) weft::yield();
            return normal.turns - before;
        };
        all.go({.priority = priority::low}, [&] {
            m.lock();
            other.lock();
            all.go({.priority = priority::high}, [&] { const std::lock_guard hold(m); });
            weft::yield();  // It waits.
            weft::yield();  // We have its class.
            m.unlock();
            with = turns_of_others(20);  // keeps the class: the high one may wait for the other mutex, too
            EXPECT_EQ(this_g::priority(), priority::low) << "its own is not touched";
            other.unlock();
            weft::yield();
            after = turns_of_others(20);
            normal.over = true;
        });
        all.wait();
    });
    EXPECT_LE(with, 4U);
    EXPECT_GE(after, 20U * 50U);
}

TEST_P(Priority, AnotherGreenThreadMayUnlockAMutex) {
    rt().run([] {
        wait_group all;
        mutex m;
        all.go({.priority = priority::low}, [&] { m.lock(); });
        all.wait();  // its holder is gone
        all.go({.priority = priority::high}, [&] { const std::lock_guard hold(m); });
        weft::yield();
        m.unlock();
        all.wait();
        EXPECT_TRUE(m.try_lock());
        m.unlock();
    });
}

TEST_P(Priority, AMutexMayOutliveTheRuntimeOfItsHolder) {
    timed_mutex m;
    {
        runtime other({.procs = procs()});
        other.run([&] {
            wait_group all;
            all.go({.priority = priority::low}, [&] { m.lock(); });
            all.wait();
        });
    }
    rt().run([&] {
        wait_group all;
        all.go({.priority = priority::high}, [&] { EXPECT_FALSE(m.try_lock_for(1ms)); });
        all.wait();
    });
    m.unlock();
}

// ---- The priority of the calling green thread.

TEST_P(Priority, AnInvalidPriorityIsRefused) {
    rt().run([] {
        bool ran = false;
        const auto f = std::make_shared<int>(1);
        EXPECT_THROW(go({.priority = static_cast<priority>(3)}, [&ran, f] { ran = true; }), std::invalid_argument);
        EXPECT_EQ(f.use_count(), 1) << "the function is gone";
        EXPECT_THROW(static_cast<void>(async({.priority = static_cast<priority>(255)}, [&ran] { ran = true; })),
                     std::invalid_argument);
        wait_group all;
        EXPECT_THROW(all.go({.priority = static_cast<priority>(3)}, [&ran] { ran = true; }), std::invalid_argument);
        all.wait();
        for (int i = 0; i < 10; ++i) yield();
        EXPECT_FALSE(ran);
    });
}

TEST_P(Priority, IsSetAtTheStartOrByTheGreenThread) {
    rt().run([] {
        EXPECT_EQ(this_g::priority(), priority::normal);
        wait_group all;
        all.go({.priority = priority::high}, [&all] {
            EXPECT_EQ(this_g::priority(), priority::high);
            all.go([] { EXPECT_EQ(this_g::priority(), priority::normal) << "it is not inherited"; });
            for (const priority p : {priority::low, priority::normal, priority::high}) {
                this_g::set_priority(p);
                weft::yield();
                EXPECT_EQ(this_g::priority(), p);
            }
        });
        all.wait();
    });
}

TEST(PriorityOutside, APlainThreadIsAlwaysNormal) {
    this_g::set_priority(priority::high);
    EXPECT_EQ(this_g::priority(), priority::normal);
}

// ---- All at once.

TEST_P(Priority, GreenThreadsOfAllClassesFinish) {
    const uint64_t seed = announced_seed();
    const int done = rt().run([seed] {
        constexpr int threads = 24;
        wait_group all;
        mutex locks[3];
        int guarded[3] = {};
        const chan<int> c(4);
        std::atomic<int> received = 0;
        for (int who = 0; who < threads; ++who) {
            all.go({.priority = static_cast<priority>(who % 3)}, [&, who] {
                prng random(seed + static_cast<uint64_t>(who));
                for (int i = 0; i < scaled(300); ++i) {
                    const int from = random.below(3);
                    const int to = from + random.below(3 - from);
                    for (int at = from; at <= to; ++at) locks[at].lock();
                    if (random.one_in(4)) weft::yield();
                    for (int at = from; at <= to; ++at) ++guarded[at];
                    if (random.one_in(50)) this_g::set_priority(static_cast<priority>(random.below(3)));
                    for (int at = from; at <= to; ++at) locks[at].unlock();
                    if (who % 2 == 0) {
                        c.send(i);
                    } else {
                        c.recv();
                        ++received;
                    }
                }
            });
        }
        all.wait();
        return received.load();
    });
    EXPECT_EQ(done, 12 * scaled(300));
}

}  // namespace
}  // namespace weft::test
