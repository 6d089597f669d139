// timer_queue_test.cc: the wheel of deadlines, compared with a sorted map.
#include "sched/timer_queue.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/random.h"
#include "support/scale.h"
#include "support/units.h"

namespace weft::detail {
namespace {

using test::ms;
using test::us;

constexpr int64_t second = 1'000'000'000;
constexpr int64_t hour = 3600 * second;

class TimerQueue : public ::testing::Test {
protected:
    void add(timer& t, int64_t deadline_ns, int64_t now_ns = 0) {
        t.deadline_ns = deadline_ns;
        queue_.lock.lock();
        queue_.add_locked(t, now_ns);
        queue_.lock.unlock();
    }

    void remove(timer& t) {
        queue_.lock.lock();
        queue_.remove_locked(t);
        queue_.lock.unlock();
    }

    // May return nullptr because it did other work.
    timer* call(int64_t now_ns) {
        queue_.lock.lock();
        timer* t = queue_.pop_due_locked(now_ns);
        queue_.lock.unlock();
        return t;
    }

    timer* pop_due(int64_t now_ns) {
        for (;;) {
            if (timer* t = call(now_ns)) return t;
            if (queue_.next_deadline() > now_ns) return nullptr;
        }
    }

    timer_queue queue_;
};

TEST_F(TimerQueue, AnEmptyQueueHasNoDeadline) {
    EXPECT_EQ(queue_.next_deadline(), never);
    EXPECT_EQ(queue_.size(), 0U);
    EXPECT_EQ(call(never - 1), nullptr);
}

TEST_F(TimerQueue, PopsOnlyDueTimers) {
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
    for (const int i : {1, 3, 4, 2, 0}) EXPECT_EQ(pop_due(1000), &t[i]);
    EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(TimerQueue, ALoneTimerFiresAtItsNanosecondAtAnyDistance) {
    for (int64_t now = 0; now < 70 * hour; now = now * 3 + 12'345) {
        for (int k = 0; k < 62; ++k) {
            for (const int64_t nudge : {-1, 0, 1}) {
                const int64_t deadline = now + (int64_t{1} << k) + nudge;
                timer t;
                add(t, deadline, now);
                ASSERT_EQ(queue_.next_deadline(), deadline) << "at " << now << ", 2^" << k;
                ASSERT_EQ(call(deadline - 1), nullptr);
                ASSERT_EQ(queue_.next_deadline(), deadline);
                remove(t);  // so that time need not advance to it
            }
        }
        timer next;
        add(next, now + 777, now);
        ASSERT_EQ(call(now + 777), &next);
    }
}

TEST_F(TimerQueue, TheLargestTimeIsAnOrdinaryDeadline) {
    timer last, first, middle;
    add(last, never - 1);
    add(first, 1);
    add(middle, never / 2 + 1);
    EXPECT_EQ(pop_due(1), &first);
    EXPECT_EQ(pop_due(never / 2), nullptr);
    EXPECT_EQ(pop_due(never / 2 + 1), &middle);
    EXPECT_EQ(pop_due(never - 2), nullptr);
    EXPECT_EQ(queue_.next_deadline(), never - 1);
    EXPECT_EQ(pop_due(never - 1), &last);
}

TEST_F(TimerQueue, ADeadlineInThePastIsDueAtOnce) {
    timer before[3], later;
    add(later, hour + 1, hour);
    int64_t deadline = 3;
    for (timer& t : before) {
        add(t, deadline--);
        EXPECT_EQ(t.deadline_ns, hour) << "counts as the time that the queue has reached";
        EXPECT_EQ(queue_.next_deadline(), hour);
    }
    for (timer& t : before) EXPECT_EQ(pop_due(hour), &t);
    EXPECT_EQ(pop_due(hour), nullptr);
    EXPECT_EQ(pop_due(hour + 1), &later);
}

TEST_F(TimerQueue, APassedDeadlineIsRaisedToTheEarliest) {
    timer late, early;
    add(late, 5 * ms, 4 * ms);
    add(early, 3 * ms, 9 * ms);  // after the first deadline, which has not been handled yet
    EXPECT_EQ(early.deadline_ns, 5 * ms);
    EXPECT_EQ(queue_.next_deadline(), 5 * ms);
    EXPECT_EQ(pop_due(9 * ms), &late);
    EXPECT_EQ(pop_due(9 * ms), &early);
}

TEST_F(TimerQueue, EqualDeadlinesLeaveInTheOrderTheyWereAdded) {
    constexpr int n = 1000;
    const auto t = std::make_unique<timer[]>(n);
    for (const int64_t away : {int64_t{7}, 7 * us, 7 * ms, 7 * second, 7 * hour}) {
        const int64_t from = queue_.next_deadline() == never ? 0 : away;
        for (int i = 0; i < n; ++i) add(t[i], from + 8 * hour + away + i % 2, from);
        for (const int parity : {0, 1}) {
            for (int i = parity; i < n; i += 2) ASSERT_EQ(pop_due(16 * hour), &t[i]) << away;
        }
        queue_.~timer_queue();
        ::new (&queue_) timer_queue;
    }
}

TEST_F(TimerQueue, EqualDeadlinesKeepTheirOrderAfterRemovals) {
    constexpr int n = 1000;
    const auto t = std::make_unique<timer[]>(n);
    for (int i = 0; i < n; ++i) add(t[i], 7 * ms);
    for (int i = 0; i < n; i += 3) remove(t[i]);
    for (int i = 0; i < n; ++i) {
        if (i % 3 == 0) continue;
        ASSERT_EQ(pop_due(7 * ms), &t[i]);
    }
    EXPECT_EQ(pop_due(never - 1), nullptr);
}

// As time approaches the deadline, additions go to lower levels, and earlier ones may move down.
TEST_F(TimerQueue, EqualDeadlinesAddedAtDifferentTimesKeepOrder) {
    for (const int at_once : {1, 5, 9, 40}) {  // few per slot, and many
        const int64_t from = at_once * 10 * hour;
        const int64_t deadline = from + hour;
        std::vector<std::unique_ptr<timer[]>> groups;
        int64_t now = from;
        for (; now < deadline; now += (deadline - now) / 3 + 1) {
            ASSERT_EQ(pop_due(now), nullptr);
            groups.push_back(std::make_unique<timer[]>(static_cast<std::size_t>(at_once)));
            for (int i = 0; i < at_once; ++i) add(groups.back()[i], deadline, now);
        }
        ASSERT_GT(groups.size(), 20U);
        for (const auto& group : groups) {
            for (int i = 0; i < at_once; ++i) ASSERT_EQ(pop_due(deadline), &group[i]);
        }
    }
}

TEST_F(TimerQueue, AnyTimerCanBeRemoved) {
    constexpr int n = 20;
    for (const int64_t scale : {int64_t{1}, int64_t{50}, us, ms, second}) {
        for (int out = 0; out < n; ++out) {
            timer t[n];
            const int64_t from = queue_.next_deadline() == never ? 0 : scale;
            for (int i = 0; i < n; ++i) add(t[i], from + scale * ((i * 7) % n));
            remove(t[out]);
            EXPECT_FALSE(t[out].queued);
            int64_t before = -1;
            int count = 0;
            while (const timer* next = pop_due(from + scale * n)) {
                ASSERT_NE(next, &t[out]);
                ASSERT_GE(next->deadline_ns, before);
                before = next->deadline_ns;
                ++count;
            }
            ASSERT_EQ(count, n - 1);
            queue_.~timer_queue();
            ::new (&queue_) timer_queue;
        }
    }
}

TEST_F(TimerQueue, RemovingTheEarliestOfAFewPublishesTheNext) {
    timer t[3];
    for (int i = 0; i < 3; ++i) add(t[i], 10 * ms + i);
    remove(t[0]);
    EXPECT_EQ(queue_.next_deadline(), 10 * ms + 1);
    remove(t[2]);
    EXPECT_EQ(queue_.next_deadline(), 10 * ms + 1);
    remove(t[1]);
    EXPECT_EQ(queue_.next_deadline(), never);
}

TEST_F(TimerQueue, AfterManyRemovalsTwoPollsFindTheNext) {
    constexpr int n = 1000;
    const auto t = std::make_unique<timer[]>(n);
    for (int i = 0; i < n; ++i) add(t[i], second + i * ms);
    for (int i = 0; i < n / 2; ++i) remove(t[i]);
    for (int looks = 0; looks < 2; ++looks) {
        ASSERT_LE(queue_.next_deadline(), second + n / 2 * ms);
        EXPECT_EQ(pop_due(queue_.next_deadline()), nullptr);
    }
    EXPECT_EQ(queue_.next_deadline(), second + n / 2 * ms);
    EXPECT_EQ(pop_due(second + n / 2 * ms), &t[n / 2]);
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

TEST_F(TimerQueue, PopAnyDrainsTheQueue) {
    constexpr int n = 100;
    const auto t = std::make_unique<timer[]>(n);
    for (int i = 0; i < n; ++i) add(t[i], int64_t{1} << (i % 60));
    for (int i = 0; i < n; ++i) {
        queue_.lock.lock();
        const timer* next = queue_.pop_any_locked();
        queue_.lock.unlock();
        ASSERT_NE(next, nullptr);
        ASSERT_FALSE(next->queued);
    }
    queue_.lock.lock();
    EXPECT_EQ(queue_.pop_any_locked(), nullptr);
    queue_.lock.unlock();
    EXPECT_EQ(queue_.next_deadline(), never);
    EXPECT_TRUE(std::none_of(t.get(), t.get() + n, [](const timer& each) { return each.queued; }));
}

TEST_F(TimerQueue, ManyTimersLeaveInDeadlineOrder) {
    const int n = test::scaled(300'000);
    const auto t = std::make_unique<timer[]>(static_cast<std::size_t>(n));
    for (const int64_t step : {int64_t{1}, int64_t{-1}, int64_t{1000}, int64_t{-1000}, int64_t{1'000'003}}) {
        for (int i = 0; i < n; ++i) add(t[i], (step > 0 ? 0 : -step * n) + step * i);
        int64_t before = -1;
        int count = 0;
        while (const timer* next = pop_due(int64_t{1'000'003} * n)) {
            ASSERT_GT(next->deadline_ns, before);
            before = next->deadline_ns;
            ++count;
        }
        EXPECT_EQ(count, n);
        queue_.~timer_queue();
        ::new (&queue_) timer_queue;
    }
}

// A timer with a changed level was moved.
TEST_F(TimerQueue, NoCallMovesMoreThanItsSteps) {
    constexpr int n = 20'000;
    const auto t = std::make_unique<timer[]>(n);
    std::vector<uint8_t> level(n);
    test::prng random(7);
    for (const bool equal : {true, false}) {
        const int64_t from = equal ? 0 : 2 * hour;
        for (int i = 0; i < n; ++i) {
            add(t[i], from + hour + (equal ? 0 : random.below(1'000'000'000)), from);
            level[static_cast<std::size_t>(i)] = t[i].level;
        }
        unsigned most = 0;
        for (int looks = 0; queue_.size() > n - 500; ++looks) {
            ASSERT_LT(looks, 100 * n);
            unsigned steps = timer_queue::steps_max;
            queue_.lock.lock();
            timer* popped = queue_.pop_due_locked(queue_.next_deadline(), steps);
            queue_.lock.unlock();
            unsigned changed = popped == nullptr ? 0 : 1;
            for (int i = 0; i < n; ++i) {
                uint8_t& was = level[static_cast<std::size_t>(i)];
                if (std::exchange(was, t[i].level) != t[i].level) ++changed;
            }
            ASSERT_LE(changed, timer_queue::steps_max - steps);
            most = std::max(most, changed);
        }
        EXPECT_GT(most, timer_queue::steps_max / 2) << "the test has seen no split";
        while (pop_due(from + 2 * hour) != nullptr) {}
    }
}

TEST_F(TimerQueue, ManyTimersAreSortedBeforeTheFirstOfThemIsDue) {
    constexpr int n = 10'000;
    const auto t = std::make_unique<timer[]>(n);
    for (int i = 0; i < n; ++i) add(t[i], hour + i * 100 * us);
    while (queue_.next_deadline() < hour) {
        const int64_t now = queue_.next_deadline();
        ASSERT_EQ(call(now), nullptr);
    }
    EXPECT_EQ(queue_.next_deadline(), hour);
    EXPECT_EQ(call(hour), &t[0]) << "the first call had something else to do";
}

TEST_F(TimerQueue, PollingAsAdvisedIsOnTimeWithFewSpuriousWakeUps) {
    const int n = test::scaled(100'000);
    const auto t = std::make_unique<timer[]>(static_cast<std::size_t>(n));
    test::prng random(test::announced_seed());
    for (const int64_t spread : {100 * us, 10 * ms, 60 * second, 1000 * hour}) {
        for (int i = 0; i < n; ++i) {
            add(t[i], 1 + static_cast<int64_t>(random.next() % static_cast<uint64_t>(spread)));
        }
        int64_t now = 0;
        int64_t in_vain = 0;
        int count = 0;
        while (queue_.size() != 0) {
            const int64_t next = queue_.next_deadline();
            if (next > now) now = next;  // sleep
            const int before = count;
            while (const timer* due = call(now)) {
                ASSERT_EQ(due->deadline_ns, now);
                ++count;
            }
            in_vain += count == before ? 1 : 0;
        }
        EXPECT_EQ(count, n);
        EXPECT_LT(in_vain, n) << "over " << spread << " ns";
        queue_.~timer_queue();
        ::new (&queue_) timer_queue;
    }
}

// The reference order: deadline, then order of addition.
class Reference {
public:
    void add(timer& t) { order_[&t] = all_.emplace(std::pair{t.deadline_ns, ++added_}, &t).first; }

    void remove(timer& t) {
        all_.erase(order_[&t]);
        order_.erase(&t);
    }

    [[nodiscard]] bool empty() const { return all_.empty(); }

    [[nodiscard]] timer* first() const { return all_.begin()->second; }

    [[nodiscard]] std::size_t size() const { return all_.size(); }

private:
    using map = std::map<std::pair<int64_t, uint64_t>, timer*>;
    map all_;
    std::map<timer*, map::iterator> order_;
    uint64_t added_ = 0;
};

TEST_F(TimerQueue, AgreesWithASortedMapUnderRandomUse) {
    const int n = test::scaled(50'000);
    test::prng random(test::announced_seed());
    const auto t = std::make_unique<timer[]>(static_cast<std::size_t>(n));
    std::vector<timer*> unused;
    std::vector<timer*> queued;
    for (int i = 0; i < n; ++i) unused.push_back(&t[i]);
    Reference reference;
    int64_t now = 0;
    const auto pop_all = [&] {
        while (!reference.empty() && reference.first()->deadline_ns <= now) {
            timer* expected = reference.first();
            ASSERT_LE(queue_.next_deadline(), expected->deadline_ns);
            ASSERT_EQ(pop_due(now), expected);
            reference.remove(*expected);
        }
        ASSERT_EQ(pop_due(now), nullptr);
    };

    const int steps = 10 * n;
    for (int step = 0; step < steps; ++step) {
        // Mostly adds first, mostly takes later.
        const bool adds = random.below(100) < (step < steps / 2 ? 60 : 40);
        if (adds && !unused.empty()) {
            timer& next = *unused.back();
            unused.pop_back();
            const auto range = uint64_t{1} << random.below(random.one_in(4) ? 62 : 40);
            int64_t away = static_cast<int64_t>(random.next() % range);
            if (random.one_in(3)) away = away / ms * ms - now % ms;  // many are equal
            if (random.one_in(20)) away = -away;
            add(next, std::max(now + std::min(away, never - 1 - now), int64_t{1}), random.one_in(2) ? now : 0);
            queued.push_back(&next);
            reference.add(next);
        } else if (!queued.empty()) {
            const auto at = static_cast<std::size_t>(random.below(static_cast<int>(queued.size())));
            std::swap(queued[at], queued.back());
            timer& gone = *queued.back();
            queued.pop_back();
            unused.push_back(&gone);
            if (gone.queued) {
                reference.remove(gone);
                remove(gone);
            }
        }
        ASSERT_EQ(queue_.size(), reference.size());
        ASSERT_LE(queue_.next_deadline(), reference.empty() ? never : reference.first()->deadline_ns);
        if (random.one_in(random.one_in(50) ? 1 : 20)) {
            const int64_t leap = static_cast<int64_t>(random.next() % (uint64_t{1} << random.below(45)));
            now += std::min(leap, never / 2 - now);
            ASSERT_NO_FATAL_FAILURE(pop_all()) << "step " << step;
        }
    }
    now = never - 1;
    ASSERT_NO_FATAL_FAILURE(pop_all());
    EXPECT_EQ(queue_.next_deadline(), never);
}

}  // namespace
}  // namespace weft::detail
