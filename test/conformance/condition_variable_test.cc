// condition_variable_test.cc: green threads and plain threads wait for changes made under a lock.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using ConditionVariable = procs_test;
WEFT_SWEEP(ConditionVariable);

class ConditionVariableOnOneProcessor : private calm, public procs_test {};

WEFT_SWEEP_OVER(ConditionVariableOnOneProcessor, 1U);

// Waiters that record the order in which they were woken.
template <typename Condition>
struct roll_call {
    mutex m;
    Condition c;
    std::size_t joined = 0;  // guarded by m, like order
    std::vector<int> order;

    void wait(int me) {
        std::unique_lock lock(m);
        ++joined;
        c.wait(lock);
        order.push_back(me);
    }

    // Returns once n threads wait. (Counting parks would not do: a thread that waits for the mutex
    // is parked, too.)
    void await(std::size_t n) {
        eventually([&] {
            const std::lock_guard hold(m);
            return joined == n;
        });
    }

    std::size_t awake() {
        const std::lock_guard hold(m);
        return order.size();
    }
};

TEST_P(ConditionVariable, EachNotifyWakesOneInTheOrderTheyCame) {
    const auto call = [this]<typename Condition>(roll_call<Condition>& roll) {
        constexpr int waiters = 30;
        for (int i = 0; i < waiters; ++i) {
            rt().go([&, i] { roll.wait(i); });
            roll.await(static_cast<std::size_t>(i) + 1);
        }
        EXPECT_EQ(roll.awake(), 0U);
        for (std::size_t i = 1; i <= waiters; ++i) {
            roll.c.notify_one();
            eventually([&] { return roll.awake() == i; });
        }
        rt().drain();
        ASSERT_EQ(roll.order.size(), std::size_t{waiters});
        for (int i = 0; i < waiters; ++i) EXPECT_EQ(roll.order[static_cast<std::size_t>(i)], i);
    };
    roll_call<condition_variable> one;
    call(one);
    roll_call<condition_variable_any> any;
    call(any);
}

// Under the lock, so that no waiter can continue before all have been notified.
TEST_P(ConditionVariable, ManyNotifiesUnderOneLockWakeAsMany) {
    roll_call<condition_variable> roll;
    for (int i = 0; i < 20; ++i) rt().go([&, i] { roll.wait(i); });
    roll.await(20);
    roll.m.lock();
    for (int i = 0; i < 7; ++i) roll.c.notify_one();
    EXPECT_EQ(roll.order.size(), 0U);
    roll.m.unlock();
    eventually([&] { return roll.awake() == 7; });
    roll.c.notify_all();
    rt().drain();
    EXPECT_EQ(roll.awake(), 20U);
}

TEST_P(ConditionVariable, NotifyAllWakesEachOnce) {
    roll_call<condition_variable> roll;
    constexpr int waiters = 200;
    const int rounds = scaled(20);
    tally woken(static_cast<std::size_t>(waiters * rounds));
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < waiters; ++i) {
            rt().go([&, i] {
                roll.wait(i);
                woken.mark(static_cast<std::size_t>(round * waiters + i));
            });
        }
        roll.await(static_cast<std::size_t>((round + 1) * waiters));
        roll.c.notify_all();
        rt().drain();
    }
    EXPECT_TRUE(woken.exactly_once());
}

// A waiter is notified. Before it can run, a second one starts to wait: the notify is not for that
// one.
TEST_P(ConditionVariable, ALaterWaiterCannotTakeANotify) {
    const int rounds = scaled(500);
    const int stolen = rt().run([rounds] {
        int wrong = 0;
        for (int i = 0; i < rounds; ++i) {
            mutex m;
            condition_variable c;
            bool first_waits = false;
            bool first_went_on = false;
            bool over = false;
            wait_group all;
            all.go([&] {
                std::unique_lock lock(m);
                first_waits = true;
                c.wait(lock);
                first_went_on = true;
            });
            for (bool waits = false; !waits; weft::yield()) {
                const std::lock_guard hold(m);
                waits = first_waits;
            }
            std::unique_lock lock(m);
            c.notify_one();
            all.go([&] {
                std::unique_lock own(m);
                c.wait(own, [&] { return over; });
            });
            c.wait_for(lock, 1ns);  // a later waiter, too, which leaves by itself
            while (!first_went_on) {
                lock.unlock();
                weft::yield();
                lock.lock();
            }
            over = true;
            c.notify_all();
            lock.unlock();
            all.wait();
            wrong += !first_went_on;
        }
        return wrong;
    });
    EXPECT_EQ(stolen, 0);
}

// Three green threads take turns, each waiting for the previous one.
TEST_P(ConditionVariable, AChainOfWaitersIsWokenLinkByLink) {
    const int rounds = scaled(300);
    rt().run([rounds] {
        for (int i = 0; i < rounds; ++i) {
            mutex m;
            condition_variable c;
            int x = 0;
            wait_group all;
            for (int turn = 0; turn < 3; ++turn) {
                all.go([&, turn] {
                    std::unique_lock lock(m);
                    c.wait(lock, [&] { return x == turn; });
                    ++x;
                    c.notify_all();
                });
            }
            all.wait();
            EXPECT_EQ(x, 3);
        }
    });
}

// A bounded queue with one condition variable for each end.
template <typename Condition>
class bounded_queue {
public:
    void put(std::size_t v) {
        std::unique_lock lock(m_);
        room_.wait(lock, [&] { return values_.size() < 3; });
        values_.push_back(v);
        news_.notify_one();
    }

    std::size_t take() {
        std::unique_lock lock(m_);
        while (values_.empty()) news_.wait(lock);
        const std::size_t v = values_.front();
        values_.pop_front();
        lock.unlock();
        room_.notify_one();
        return v;
    }

private:
    mutex m_;
    Condition room_;
    Condition news_;
    std::deque<std::size_t> values_;
};

TEST_P(ConditionVariable, GreenAndPlainThreadsShareAQueue) {
    const auto exchange = [this]<typename Condition>(bounded_queue<Condition>& queue) {
        const int each = scaled(1000);
        tally taken(static_cast<std::size_t>(6 * each));
        const auto put_all = [&](int from) {
            for (int i = from; i < from + each; ++i) queue.put(static_cast<std::size_t>(i));
        };
        const auto take_all = [&] {
            for (int i = 0; i < each; ++i) taken.mark(queue.take());
        };
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i) {
            threads.emplace_back(put_all, i * each);
            threads.emplace_back(take_all);
            rt().go([&, i] { put_all((3 + i) * each); });
            rt().go(take_all);
        }
        for (std::thread& t : threads) t.join();
        rt().drain();
        EXPECT_TRUE(taken.exactly_once());
    };
    bounded_queue<condition_variable> one;
    exchange(one);
    bounded_queue<condition_variable_any> any;
    exchange(any);
}

// A plain thread and a green thread pass a ball back and forth.
TEST_P(ConditionVariable, APlainAndAGreenThreadAlternate) {
    const int rounds = scaled(500);
    mutex m;
    condition_variable c;
    int hits = 0;
    const auto play = [&](int me) {
        for (int i = 0; i < rounds; ++i) {
            std::unique_lock lock(m);
            c.wait(lock, [&] { return hits % 2 == me; });
            ++hits;
            c.notify_one();
        }
    };
    std::thread plain([&] { play(0); });
    rt().go([&] { play(1); });
    plain.join();
    rt().drain();
    EXPECT_EQ(hits, 2 * rounds);
}

// Any lock works: one that is not a mutex of weft, and the mutex itself.
TEST_P(ConditionVariable, ConditionVariableAnyWorksWithAnyLock) {
    struct gate {  // a lock made of a channel with one slot
        chan<int> place{1};

        void lock() const { place.send(0); }

        void unlock() const { place.recv(); }
    };

    gate g;
    mutex m;
    condition_variable_any c;
    bool there = false;
    int seen = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < 10; ++i) {
            all.go([&] {
                const std::lock_guard hold(g);
                c.wait(g, [&] { return there; });
                ++seen;
            });
        }
        all.go([&] {
            const std::lock_guard hold(g);
            there = true;
            c.notify_all();
        });
        all.wait();
        m.lock();
        EXPECT_EQ(c.wait_for(m, 100us), std::cv_status::timeout);
        m.unlock();
    });
    EXPECT_EQ(seen, 10);
}

// A waiter notified by the lock's holder finds the lock free: it first runs when that holder parks.
TEST_P(ConditionVariableOnOneProcessor, ANotifyUnderTheLockCostsOneWait) {
    const auto parks = rt().run([] {
        mutex m;
        condition_variable c;
        int turn = 0;
        const uint64_t before = stats().parks;
        wait_group both;
        for (int me = 0; me < 2; ++me) {
            both.go([&, me] {
                for (int i = 0; i < 1000; ++i) {
                    std::unique_lock lock(m);
                    c.wait(lock, [&] { return turn == me; });
                    turn = 1 - me;
                    c.notify_one();
                }
            });
        }
        both.wait();
        return stats().parks - before;
    });
    EXPECT_LE(parks, 2001U);
}

}  // namespace
}  // namespace weft::test
