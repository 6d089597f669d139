// timer_queue_test.cc: the heap of deadlines, against a std::multimap that does the same.
#include "sched/timer_queue.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/random.h"
#include "support/scale.h"

namespace weft::detail {
namespace {

class TimerQueue : public ::testing::Test {
protected:
    void add(timer& t, int64_t deadline_ns) {
        t.deadline_ns = deadline_ns;
        queue_.lock.lock();
        queue_.add_locked(t);
        queue_.lock.unlock();
    }

    void remove(timer& t) {
        queue_.lock.lock();
        queue_.remove_locked(t);
        queue_.lock.unlock();
    }

    timer* pop_due(int64_t now_ns) {
        queue_.lock.lock();
        timer* t = queue_.pop_due_locked(now_ns);
        queue_.lock.unlock();
        return t;
    }

    timer_queue queue_;
};

TEST_F(TimerQueue, AnEmptyQueueHasNoDeadline) {
    EXPECT_EQ(queue_.next_deadline(), never);
    EXPECT_EQ(queue_.size(), 0U);
    EXPECT_EQ(pop_due(never), nullptr);
}

TEST_F(TimerQueue, OnlyWhatIsDueIsPopped) {
    timer t;
    add(t, 100);
    EXPECT_TRUE(t.queued);
    EXPECT_EQ(queue_.next_deadline(), 100);
    EXPECT_EQ(pop_due(99), nullptr);
    EXPECT_EQ(pop_due(100), &t);
    EXPECT_FALSE(t.queued);
    EXPECT_EQ(queue_.next_deadline(), never);
}

TEST_F(TimerQueue, TheEarliestLeavesFirst) {
    timer t[5];
    const int64_t deadlines[5] = {50, 10, 40, 20, 30};
    for (int i = 0; i < 5; ++i) add(t[i], deadlines[i]);
    EXPECT_EQ(queue_.size(), 5U);
    for (const int i : {1, 3, 4, 2, 0}) {
        EXPECT_EQ(queue_.next_deadline(), deadlines[i]);
        EXPECT_EQ(pop_due(1000), &t[i]);
    }
}

TEST_F(TimerQueue, EqualDeadlinesLeaveInTheOrderTheyWereAdded) {
    constexpr int n = 1000;
    const auto t = std::make_unique<timer[]>(n);
    for (int i = 0; i < n; ++i) add(t[i], 7 + i % 2);
    for (const int parity : {0, 1}) {
        for (int i = parity; i < n; i += 2) ASSERT_EQ(pop_due(1000), &t[i]);
    }
}

TEST_F(TimerQueue, EqualDeadlinesKeepTheirOrderWhenOthersAreTakenOut) {
    constexpr int n = 1000;
    const auto t = std::make_unique<timer[]>(n);
    for (int i = 0; i < n; ++i) add(t[i], 7);
    for (int i = 0; i < n; i += 3) remove(t[i]);
    for (int i = 0; i < n; ++i) {
        if (i % 3 == 0) continue;
        ASSERT_EQ(pop_due(7), &t[i]);
    }
    EXPECT_EQ(pop_due(never), nullptr);
}

TEST_F(TimerQueue, AnyOfThemCanBeTakenOut) {
    constexpr int n = 8;
    for (int out = 0; out < n; ++out) {
        timer t[n];
        for (int i = 0; i < n; ++i) add(t[i], 10 * ((i * 5) % n));
        EXPECT_NE(pop_due(0), nullptr);  // so that the heap has some shape
        if (t[out].queued) remove(t[out]);
        EXPECT_FALSE(t[out].queued);
        int64_t before = 0;
        while (const timer* next = pop_due(1000)) {
            EXPECT_NE(next, &t[out]);
            EXPECT_GT(next->deadline_ns, before);
            before = next->deadline_ns;
        }
        EXPECT_EQ(queue_.size(), 0U);
    }
}

TEST_F(TimerQueue, TakingTheEarliestOutPublishesTheNext) {
    timer t[3];
    for (int i = 0; i < 3; ++i) add(t[i], 10 + i);
    remove(t[0]);
    EXPECT_EQ(queue_.next_deadline(), 11);
    remove(t[2]);
    EXPECT_EQ(queue_.next_deadline(), 11);
    remove(t[1]);
    EXPECT_EQ(queue_.next_deadline(), never);
}

TEST_F(TimerQueue, ATimerCanBeUsedAgain) {
    timer t;
    for (int i = 1; i < 10; ++i) {
        add(t, i);
        EXPECT_EQ(queue_.next_deadline(), i);
        if (i % 2 == 0) {
            remove(t);
        } else {
            EXPECT_EQ(pop_due(i), &t);
        }
    }
    EXPECT_EQ(queue_.size(), 0U);
}

// All at once: ascending deadlines make the heap one long list of siblings, descending ones one long chain.
TEST_F(TimerQueue, LongListsAndDeepChainsAreTakenDownWithoutRecursion) {
    const int n = test::scaled(300'000);
    const auto t = std::make_unique<timer[]>(static_cast<std::size_t>(n));
    for (const bool ascending : {true, false}) {
        for (int i = 0; i < n; ++i) add(t[i], ascending ? i : n - i);
        int64_t before = -1;
        int count = 0;
        while (const timer* next = pop_due(never)) {
            ASSERT_GT(next->deadline_ns, before);
            before = next->deadline_ns;
            ++count;
        }
        EXPECT_EQ(count, n);
    }
}

// The reference: deadline, then order of addition.
class Reference {
public:
    void add(timer& t) { all_.emplace(key(t), &t); }

    void remove(const timer& t) { all_.erase(key(t)); }

    [[nodiscard]] bool empty() const { return all_.empty(); }

    [[nodiscard]] timer* first() const { return all_.begin()->second; }

    [[nodiscard]] std::size_t size() const { return all_.size(); }

private:
    static std::pair<int64_t, uint64_t> key(const timer& t) { return {t.deadline_ns, t.order}; }

    std::multimap<std::pair<int64_t, uint64_t>, timer*> all_;
};

TEST_F(TimerQueue, AgreesWithASortedMapUnderRandomUse) {
    const int n = test::scaled(100'000);
    const int steps = 4 * n;
    test::prng random(test::announced_seed());
    const auto t = std::make_unique<timer[]>(static_cast<std::size_t>(n));
    std::vector<timer*> unused;
    std::vector<timer*> queued;
    for (int i = 0; i < n; ++i) unused.push_back(&t[i]);
    Reference reference;

    for (int step = 0; step < steps; ++step) {
        // First rather add, later rather take.
        const bool adds = random.below(100) < (step < steps / 2 ? 60 : 40);
        if (adds && !unused.empty()) {
            timer& next = *unused.back();
            unused.pop_back();
            add(next, 1 + random.below(n / 2 + 1));  // many are equal
            queued.push_back(&next);
            reference.add(next);
        } else if (random.one_in(2) && !queued.empty()) {
            const auto at = static_cast<std::size_t>(random.below(static_cast<int>(queued.size())));
            std::swap(queued[at], queued.back());
            timer& gone = *queued.back();
            queued.pop_back();
            unused.push_back(&gone);
            if (!gone.queued) continue;  // popped meanwhile
            reference.remove(gone);
            remove(gone);
        } else if (!reference.empty()) {
            timer* expected = reference.first();
            ASSERT_EQ(pop_due(expected->deadline_ns - 1), nullptr);
            ASSERT_EQ(pop_due(expected->deadline_ns), expected) << "step " << step;
            reference.remove(*expected);
        }
        ASSERT_EQ(queue_.size(), reference.size());
        ASSERT_EQ(queue_.next_deadline(), reference.empty() ? never : reference.first()->deadline_ns);
    }
    while (!reference.empty()) {
        timer* expected = reference.first();
        reference.remove(*expected);
        ASSERT_EQ(pop_due(never), expected);
    }
    EXPECT_EQ(pop_due(never), nullptr);
}

}  // namespace
}  // namespace weft::detail
