// shared_queue_test.cc: the global queue, and the pool of Gs.
#include "sched/shared_queue.h"

#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "sched/g_pool.h"

namespace weft::detail {
namespace {

class GlobalQueue : public ::testing::Test {
protected:
    static constexpr int n = 10;

    void expect_popped(uint32_t wanted, int first, int count) {
        fifo<G> batch = queue_.pop(wanted);
        EXPECT_EQ(batch.size(), static_cast<uint32_t>(count));
        for (int i = 0; i < count; ++i) EXPECT_EQ(batch.pop_front(), &gs_[first + i]);
    }

    const std::unique_ptr<G[]> gs_ = std::make_unique<G[]>(n);
    shared_queue queue_;
};

TEST_F(GlobalQueue, IsFifoOneByOneAndInBatches) {
    queue_.push(&gs_[0]);
    fifo<G> batch;
    for (int i = 1; i < 6; ++i) batch.push_back(&gs_[i]);
    queue_.push(batch);
    EXPECT_TRUE(batch.empty());
    queue_.push(&gs_[6]);
    EXPECT_EQ(queue_.size(), 7U);
    expect_popped(1, 0, 1);
    expect_popped(4, 1, 4);
    EXPECT_EQ(queue_.size(), 2U);
    expect_popped(100, 5, 2);
    EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(GlobalQueue, PoppingNothingTakesNothing) {
    expect_popped(5, 0, 0);
    queue_.push(&gs_[0]);
    expect_popped(0, 0, 0);
    EXPECT_EQ(queue_.size(), 1U);
}

TEST(GPool, IsEmptyUntilABlockIsAdded) {
    g_pool pool;
    EXPECT_TRUE(pool.take(5).empty());
    pool.add_block();
    EXPECT_EQ(pool.take(1000).size(), g_pool::block_size);
    EXPECT_TRUE(pool.take(1).empty());
}

TEST(GPool, ForEachVisitsEveryGOnce) {
    g_pool pool;
    pool.add_block();
    pool.add_block();
    fifo<G> out = pool.take(10);
    std::set<const G*> seen;
    pool.for_each([&](const G& g) {
        EXPECT_TRUE(seen.insert(&g).second);
        EXPECT_EQ(g.state.load(), g_state::dead);
    });
    EXPECT_EQ(seen.size(), 2 * g_pool::block_size);
    while (const G* g = out.pop_front()) EXPECT_TRUE(seen.contains(g));
}

TEST(GPool, TakesReturnedGsFirst) {
    g_pool pool;
    pool.add_block();
    fifo<G> out = pool.take(2);
    G* const first = out.pop_front();
    fifo<G> back;
    back.push_back(first);
    static_cast<void>(pool.give(back));
    EXPECT_EQ(pool.take(1).pop_front(), first);
}

TEST(GPool, AnUnstartedGTakes256Bytes) {
    EXPECT_EQ(sizeof(G), 256U);
    EXPECT_EQ(alignof(G), 64U);
    EXPECT_GE(G::inline_closure_size, 64U);
}

}  // namespace
}  // namespace weft::detail
