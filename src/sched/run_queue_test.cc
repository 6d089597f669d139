// run_queue_test.cc: the ring, at every fill level and wherever its indices wrap.
#include "sched/run_queue.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sched/g.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::detail {
namespace {

constexpr uint32_t capacity = run_queue::capacity;

class RunQueue : public ::testing::Test {
protected:
    // Makes start the slot of the next push, as after long use.
    static void advance(run_queue& queue, uint32_t start) {
        G any;
        for (uint32_t i = 0; i < start; ++i) {
            ASSERT_TRUE(queue.push(&any));
            ASSERT_EQ(queue.pop(), &any);
        }
    }

    void fill(run_queue& queue, uint32_t first, uint32_t n) {
        for (uint32_t i = 0; i < n; ++i) ASSERT_TRUE(queue.push(&gs_[first + i]));
    }

    [[nodiscard]] uint32_t number(const G* g) const { return static_cast<uint32_t>(g - gs_.get()); }

    void expect_rest(run_queue& queue, uint32_t first, uint32_t n) {
        EXPECT_EQ(queue.size(), n);
        for (uint32_t i = 0; i < n; ++i) {
            const G* g = queue.pop();
            ASSERT_NE(g, nullptr);
            ASSERT_EQ(number(g), first + i);
        }
        EXPECT_EQ(queue.pop(), nullptr);
        EXPECT_TRUE(queue.empty());
    }

    const std::unique_ptr<G[]> gs_ = std::make_unique<G[]>(2 * capacity);
};

TEST_F(RunQueue, IsFifoAtEachFillLevel) {
    run_queue queue;
    for (uint32_t n = 0; n <= capacity; ++n) {
        fill(queue, 0, n);
        expect_rest(queue, 0, n);
    }
}

TEST_F(RunQueue, APushToAFullRingFailsAndKeepsTheRest) {
    for (const uint32_t start : {0U, 1U, capacity / 2, capacity - 1}) {
        run_queue queue;
        advance(queue, start);
        fill(queue, 0, capacity);
        EXPECT_FALSE(queue.push(&gs_[capacity]));
        EXPECT_FALSE(queue.push(&gs_[capacity]));
        EXPECT_EQ(number(queue.pop()), 0U);
        EXPECT_TRUE(queue.push(&gs_[capacity]));
        expect_rest(queue, 1, capacity);
    }
}

TEST_F(RunQueue, KeepsOrderWhilePushesAndPopsAlternate) {
    run_queue queue;
    uint32_t in = 0;
    uint32_t out = 0;
    for (uint32_t step = 0; step < 20 * capacity; ++step) {
        // Fills and drains in waves of varying height.
        const bool wants_in = (step / (1 + step % 97)) % 2 == 0;
        if (wants_in && in - out < capacity) {
            ASSERT_TRUE(queue.push(&gs_[in++ % capacity]));
        } else if (const G* g = queue.pop()) {
            ASSERT_EQ(number(g), out++ % capacity);
        }
        ASSERT_EQ(queue.size(), in - out);
    }
}

TEST_F(RunQueue, StealTakesTheOlderHalfRoundedUp) {
    for (const uint32_t start : {0U, capacity - 3}) {
        for (uint32_t n = 1; n <= capacity; ++n) {
            run_queue victim;
            run_queue thief;
            advance(victim, start);
            advance(thief, n % 7);
            fill(victim, 0, n);
            uint32_t count = 0;
            const G* oldest = thief.steal_from(victim, count);
            ASSERT_NE(oldest, nullptr);
            EXPECT_EQ(number(oldest), 0U);
            EXPECT_EQ(count, (n + 1) / 2);
            expect_rest(thief, 1, count - 1);
            expect_rest(victim, count, n - count);
        }
    }
}

TEST_F(RunQueue, AnEmptyVictimYieldsNothing) {
    run_queue victim;
    run_queue thief;
    uint32_t count = 0;
    EXPECT_EQ(thief.steal_from(victim, count), nullptr);
    EXPECT_EQ(count, 0U);
    EXPECT_TRUE(thief.empty());
}

TEST_F(RunQueue, StealingOverAndOverTakesEverything) {
    run_queue victim;
    fill(victim, 0, capacity);
    uint32_t next = 0;
    for (uint32_t count = 0; next < capacity; next += count) {
        run_queue thief;
        const G* oldest = thief.steal_from(victim, count);
        ASSERT_NE(oldest, nullptr);
        EXPECT_EQ(number(oldest), next);
        expect_rest(thief, next + 1, count - 1);
    }
    EXPECT_TRUE(victim.empty());
}

TEST_F(RunQueue, PopHalfTakesTheOlderHalfOfAFullRing) {
    for (const uint32_t start : {0U, 1U, capacity / 2 + 1, capacity - 1}) {
        run_queue queue;
        advance(queue, start);
        fill(queue, 0, capacity);
        G* half[capacity / 2] = {};
        ASSERT_EQ(queue.pop_half(half), capacity / 2);
        for (uint32_t i = 0; i < capacity / 2; ++i) EXPECT_EQ(number(half[i]), i);
        expect_rest(queue, capacity / 2, capacity / 2);
    }
}

TEST_F(RunQueue, PopHalfTakesNothingFromARingThatIsNotFull) {
    run_queue queue;
    G* half[capacity / 2] = {};
    EXPECT_EQ(queue.pop_half(half), 0U);
    fill(queue, 0, capacity - 1);
    EXPECT_EQ(queue.pop_half(half), 0U);
    expect_rest(queue, 0, capacity - 1);
}

TEST_F(RunQueue, WithThievesEveryGLeavesExactlyOnce) {
    constexpr int thieves = 2;
    const auto total = static_cast<uint32_t>(test::scaled(400'000));
    const auto all = std::make_unique<G[]>(total);
    test::tally seen(total);
    const auto mark = [&](const G* g) { seen.mark(static_cast<std::size_t>(g - all.get())); };
    run_queue queue;
    std::atomic<bool> over{false};

    std::vector<std::thread> others;
    for (int i = 0; i < thieves; ++i) {
        others.emplace_back([&] {
            run_queue mine;
            while (!over.load() || !queue.empty()) {
                uint32_t count = 0;
                if (const G* g = mine.steal_from(queue, count)) {
                    mark(g);
                    while (const G* more = mine.pop()) mark(more);
                } else {
                    std::this_thread::yield();
                }
            }
        });
    }
    G* half[capacity / 2];
    for (uint32_t i = 0; i < total; ++i) {
        while (!queue.push(&all[i])) {
            const uint32_t taken = queue.pop_half(half);
            for (uint32_t k = 0; k < taken; ++k) mark(half[k]);
        }
        if (i % 3 == 0) {
            if (const G* g = queue.pop()) mark(g);
        }
    }
    while (const G* g = queue.pop()) mark(g);
    over.store(true);
    for (std::thread& t : others) t.join();
    EXPECT_TRUE(seen.exactly_once());
}

}  // namespace
}  // namespace weft::detail
