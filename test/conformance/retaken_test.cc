// retaken_test.cc: what a green thread does while it computes without a P: whatever does not wait
// works as usual.

#include "support/retaken.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class Retaken : public short_slice_test {
protected:
    // Runs body as a green thread that has no P when it begins. Returns its result.
    template <typename F>
    auto without_p(F&& body) {
        const crowd busy(rt());
        return rt().run([&] {
            lose_p();
            return body();
        });
    }
};

WEFT_SWEEP_OVER(Retaken, 1U, 2U, 4U);

TEST_P(Retaken, IsCounted) {
    const stats_snapshot before = rt().stats();
    without_p([] { EXPECT_FALSE(has_p()); });
    const stats_snapshot after = rt().stats();
    EXPECT_GT(after.retakes_burning, before.retakes_burning);
    if (in_storm()) return;  // in a storm it is retaken at random
    EXPECT_GT(after.yield_requests, before.yield_requests);
}

TEST_P(Retaken, KeepsItsIdentityAndThread) {
    const crowd busy(rt());
    rt().run([] {
        static const local<int> mine([] { return 1; });
        this_g::set_name("the retaken one");
        this_g::set_label("key", "value");
        *mine = 2;
        const uint64_t id = this_g::id();
        const int thread = os_thread_id();
        errno = ERANGE;
        lose_p();
        EXPECT_EQ(errno, ERANGE);
        EXPECT_EQ(os_thread_id(), thread);
        EXPECT_EQ(this_g::id(), id);
        EXPECT_EQ(this_g::name(), "the retaken one");
        EXPECT_EQ(this_g::labels().find("key"), "value");
        EXPECT_EQ(*mine, 2);
        *mine = 3;
        this_g::set_label("key", "another");
        this_g::set_name("still");
        this_g::set_priority(priority::high);
        EXPECT_FALSE(has_p()) << "nothing of that needs one";
        weft::yield();
        EXPECT_EQ(this_g::name(), "still");
        EXPECT_EQ(this_g::labels().find("key"), "another");
        EXPECT_EQ(*mine, 3);
        EXPECT_EQ(this_g::id(), id);
    });
}

TEST_P(Retaken, StartsGreenThreads) {
    const int n = scaled(600);
    tally ran(static_cast<std::size_t>(n));
    const int thread_changes = without_p([&] {
        const int mine = os_thread_id();
        int changes = 0;
        for (int i = 0; i < n; ++i) {
            lose_p();
            const auto number = static_cast<std::size_t>(i);
            if (i % 3 == 0) go([&ran, number] { ran.mark(number); });
            if (i % 3 == 1) go({.name = "large"}, [&ran, number, big = std::string(200, 'x')] { ran.mark(number); });
            if (i % 3 == 2) {
                go([&ran, number] {
                    weft::yield();
                    go([&ran, number] { ran.mark(number); });
                });
            }
            changes += os_thread_id() != mine;
        }
        return changes;
    });
    rt().drain();
    EXPECT_TRUE(ran.exactly_once());
    EXPECT_EQ(thread_changes, 0) << "nothing of that waits";
}

TEST_P(Retaken, SendsAndReceivesWithoutWaiting) {
    constexpr int capacity = 16;
    const int n = scaled(800);
    tally sent(static_cast<std::size_t>(2 * n));
    tally got(static_cast<std::size_t>(2 * n));
    const chan<int> buffered(capacity);
    const chan<int> direct;
    wait_group partners;
    partners.add(2);
    rt().go([&] {
        for (const int v : direct) got.mark(static_cast<std::size_t>(v));
        partners.done();
    });
    rt().go([&] {
        for (const int v : buffered) got.mark(static_cast<std::size_t>(v));
        partners.done();
    });
    without_p([&] {
        for (int i = 0; i < n; ++i) {
            lose_p();
            if (buffered.try_send(int{i}) == chan_status::ok) sent.mark(static_cast<std::size_t>(i));
            if (direct.try_send(n + i) == chan_status::ok) sent.mark(static_cast<std::size_t>(n + i));
            if (const auto r = buffered.try_recv(); r.status == chan_status::ok)
                got.mark(static_cast<std::size_t>(*r.value));
        }
        direct.close();
        buffered.close();
    });
    partners.wait();
    EXPECT_TRUE(got.same_as(sent));
}

// Each of these wakes its waiter now and then: exactly one waiter, exactly once.
TEST_P(Retaken, WakesWaiters) {
    const int n = scaled(40);
    std::atomic<int> woken = 0;
    without_p([&] {
        for (int i = 0; i < n; ++i) {
            const uint64_t since = stats().parks;
            mutex m;
            wait_group group;
            group.add();
            promise<int> given;
            auto taken = given.get_future();
            counting_semaphore<> units(0);
            event happened;
            latch here(1);
            condition_variable changed;
            bool told = false;  // guarded by m
            m.lock();
            wait_group all;
            const auto waiter = [&](auto wait) {
                all.go([&, wait] {
                    wait();
                    ++woken;
                });
            };
            waiter([&] { const std::lock_guard hold(m); });
            waiter([&] { group.wait(); });
            waiter([&] { EXPECT_EQ(taken.get(), i); });
            waiter([&] { units.acquire(); });
            waiter([&] { happened.wait(); });
            waiter([&] { here.wait(); });
            waiter([&] {
                std::unique_lock hold(m);
                changed.wait(hold, [&] { return told; });
            });
            if (i % 2 == 0) {
                // Until they wait.
                busily([&] { return stats().parks >= since + 5; });
            }
            lose_p();
            told = true;
            m.unlock();
            lose_p();
            group.done();
            given.set_value(i);
            units.release();
            happened.set();
            here.count_down();
            lose_p();
            {
                // Whether the lock is available depends on others.
                const std::unique_lock hold(m, std::try_to_lock);
            }
            changed.notify_all();
            all.wait();
            lose_p();
        }
    });
    EXPECT_EQ(woken, 7 * n);
}

TEST_P(Retaken, StartsAndStopsTimers) {
    const int n = scaled(50);
    std::atomic<int> fired = 0;
    std::atomic<int> stopped = 0;
    without_p([&] {
        wait_group to_fire;
        for (int i = 0; i < n; ++i) {
            lose_p();
            to_fire.add();
            after_func(1us * i, [&] {
                ++fired;
                to_fire.done();
            }).detach();
            timer later = after_func(1h, [&] { ++fired; });
            timer ticks(1h);
            ticks.reset(2h);
            stopped += later.stop();
            stopped += ticks.stop();
            timer soon(1us);
            lose_p();
            static_cast<void>(soon.stop());
        }
        EXPECT_FALSE(has_p());
        to_fire.wait();
    });
    EXPECT_EQ(fired, n);
    EXPECT_EQ(stopped, 2 * n);
}

TEST_P(Retaken, ThrowsAndCatches) {
    const int n = scaled(50);
    int caught = 0;
    without_p([&] {
        for (int i = 0; i < n; ++i) {
            lose_p();
            try {
                try {
                    throw std::runtime_error(std::to_string(i));
                } catch (const std::runtime_error&) {
                    lose_p();
                    throw;
                }
            } catch (const std::exception& e) {
                if (i % 5 == 0) weft::yield();
                caught += e.what() == std::to_string(i);
            }
        }
    });
    EXPECT_EQ(caught, n);
}

TEST_P(Retaken, ReturnsWithoutAP) {
    const int n = scaled(100);
    std::atomic<int> ended = 0;
    {
        const crowd busy(rt());
        for (int i = 0; i < n; ++i) {
            rt().go([&] {
                lose_p();
                ++ended;
            });
        }
        eventually([&] { return ended == n; });
        EXPECT_THROW(rt().run([] {
            lose_p();
            throw std::logic_error("travels");
        }),
                     std::logic_error);
    }
    rt().drain();
    EXPECT_EQ(ended, n);
}

}  // namespace
}  // namespace weft::test
