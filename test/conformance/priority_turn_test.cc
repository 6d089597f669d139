// priority_turn_test.cc: green threads of other classes than normal, where a turn is easily lost.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/environment.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/stopping.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using PriorityTurn = procs_test;
WEFT_SWEEP(PriorityTurn);

class PriorityTurnOnOneProcessor : private calm, public procs_test {};

WEFT_SWEEP_OVER(PriorityTurnOnOneProcessor, 1U);

// The next G was picked before the yielding one made itself high. The high one runs right after it.
TEST_P(PriorityTurnOnOneProcessor, AYieldingGThatMadeItselfHighRunsSecondNext) {
    std::atomic<bool> back = false;
    std::atomic<int> turns = 0;
    rt().go([&] {
        for (int i = 0; i < 2; ++i) {
            go([&] {
                while (!back && turns < scaled(10'000)) {
                    ++turns;
                    weft::yield();
                }
            });
        }
        this_g::set_priority(priority::high);
        weft::yield();
        back = true;
    });
    rt().drain();
    EXPECT_LE(turns, 2);
}

// The same when switching to and from a pinned G.
TEST_P(PriorityTurnOnOneProcessor, AGMadeHighBetweenPinnedGsIsNotLost) {
    std::atomic<bool> back = false;
    std::atomic<int> turns = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < 3; ++i) {
            all.go([&, pinned = i == 0] {
                if (pinned) pin().keep();
                while (!back && turns < scaled(10'000)) {
                    ++turns;
                    weft::yield();
                }
            });
        }
        for (int i = 0; i < 10; ++i) {
            weft::yield();
            this_g::set_priority(i % 2 == 0 ? priority::high : priority::normal);
        }
        back = true;
        all.wait();
    });
    EXPECT_LT(turns, scaled(10'000));
}

// A high G waits for a mutex. Its low holder waits for another mutex, queued behind a third G,
// which is low, too.
TEST_P(PriorityTurnOnOneProcessor, InheritanceReachesTheNextHolderOfAChain) {
    constexpr int yields = 20;
    uint64_t turns_meanwhile = 0;
    rt().run([&] {
        wait_group all;
        mutex near;
        mutex far;
        std::atomic<int> step = 0;
        std::atomic<bool> over = false;
        std::atomic<uint64_t> turns = 0;
        const auto hold_for_long = [&](bool first) {
            const std::lock_guard hold(far);
            if (first) step = 1;
            while (first && step != 3) weft::yield();
            for (int i = 0; i < yields; ++i) weft::yield();
        };
        all.go({.priority = priority::low}, [&] { hold_for_long(true); });
        while (step != 1) sleep_for(100us);
        all.go({.priority = priority::low}, [&] { hold_for_long(false); });
        sleep_for(200us);
        all.go({.priority = priority::low}, [&] {
            const std::lock_guard hold(near);
            step = 2;
            const std::lock_guard wait(far);
        });
        while (step != 2) sleep_for(100us);
        sleep_for(200us);  // now it waits
        for (int i = 0; i < 10; ++i) {
            all.go([&] {
                while (!over) {
                    ++turns;
                    weft::yield();
                }
            });
        }
        all.go({.priority = priority::high}, [&] {
            const uint64_t before = turns;
            step = 3;
            const std::lock_guard hold(near);
            turns_meanwhile = turns - before;
            over = true;
        });
        all.wait();
    });
    // With its own class, the second holder would have one turn of sixty.
    EXPECT_LT(turns_meanwhile, yields * 30U);
}

// Another P fires the timers of a P that computes. It then has only high Gs to run.
TEST_P(PriorityTurn, DueHighSleepersWakeWhileTheirPComputes) {
    constexpr int sleepers = 100;
    std::atomic<int> woken = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < sleepers; ++i) {
            const priority p = i % 3 == 0 ? priority::low : priority::high;
            all.go({.priority = p}, [&, i] {
                sleep_for(2ms + i * 10us);
                ++woken;
            });
        }
        weft::yield();
        if (procs() > 1) {
            busily([&] { return woken == sleepers; });
        } else {
            compute_for(5ms);
        }
        all.wait();
    });
    EXPECT_EQ(woken, sleepers);
}

// A mutex is owned by a green thread that never began. Another one waits for it, and holds what a
// third one wants. All three are abandoned.
TEST_P(PriorityTurn, AMutexOfAnAbandonedChainMayBeDestroyed) {
    struct last_try {
        timed_mutex* of;

        explicit last_try(timed_mutex& m) noexcept : of(&m) {}

        last_try(last_try&& other) noexcept : of(std::exchange(other.of, nullptr)) {}

        ~last_try() {
            if (of == nullptr) return;
            EXPECT_FALSE(of->try_lock_for(100us));
        }

        void operator()() const {}
    };

    timed_mutex held;
    {
        runtime other({.procs = 1, .retake = false});
        std::atomic<bool> computes = false;
        other.go([&] {
            auto wanted = std::make_shared<mutex>();
            wanted->lock();
            // The Gs started below reuse the memory of these, so the low one lies before or after
            // them.
            wait_group before;
            for (int i = 0; i < 3; ++i) {
                before.go([&held] {
                    while (held.try_lock()) {
                        held.unlock();
                        weft::yield();
                    }
                });
            }
            go({.priority = priority::low}, [&held, at = wanted.get()] {
                held.lock();
                at->lock();
            });
            before.wait();
            // None of these begins. In whichever order they are destroyed, one looks for the holder
            // after the mutex is gone.
            go([last = last_try(held)] { last(); });
            go([owner = std::move(wanted)] { owner->unlock(); });
            go([last = last_try(held)] { last(); });
            computes = true;
            compute_until_stopped();
        });
        eventually([&] { return computes.load(); });
    }
    held.unlock();
}

}  // namespace
}  // namespace weft::test
