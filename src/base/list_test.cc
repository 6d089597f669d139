// list_test.cc: the intrusive list keeps order, and count.
#include "base/list.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

struct node {
    int value = 0;
    node* next = nullptr;
};

std::vector<int> drained(fifo<node>& list) {
    std::vector<int> values;
    while (const node* n = list.pop_front()) values.push_back(n->value);
    return values;
}

class List : public ::testing::Test {
protected:
    List() {
        for (int i = 0; i < 6; ++i) nodes_[i].value = i;
    }

    node nodes_[6];
    fifo<node> list_;
};

TEST_F(List, AnEmptyListHasNoFirstNode) {
    EXPECT_TRUE(list_.empty());
    EXPECT_EQ(list_.size(), 0U);
    EXPECT_EQ(list_.pop_front(), nullptr);
}

TEST_F(List, NodesLeaveInTheOrderTheyWereAppended) {
    for (node& n : nodes_) list_.push_back(&n);
    EXPECT_EQ(list_.size(), 6U);
    EXPECT_EQ(drained(list_), (std::vector{0, 1, 2, 3, 4, 5}));
    EXPECT_TRUE(list_.empty());
}

TEST_F(List, APoppedNodeHasNoSuccessor) {
    list_.push_back(&nodes_[0]);
    list_.push_back(&nodes_[1]);
    EXPECT_EQ(list_.pop_front()->next, nullptr);
}

TEST_F(List, AListThatRanEmptyCanBeFilledAgain) {
    list_.push_back(&nodes_[0]);
    EXPECT_EQ(drained(list_), std::vector{0});
    list_.push_back(&nodes_[1]);
    list_.push_back(&nodes_[2]);
    EXPECT_EQ(list_.size(), 2U);
    EXPECT_EQ(drained(list_), (std::vector{1, 2}));
}

TEST_F(List, AppendingKeepsBothOrdersAndEmptiesTheOther) {
    fifo<node> other;
    list_.push_back(&nodes_[0]);
    list_.push_back(&nodes_[1]);
    other.push_back(&nodes_[2]);
    other.push_back(&nodes_[3]);
    list_.append(other);
    EXPECT_TRUE(other.empty());
    EXPECT_EQ(other.size(), 0U);
    EXPECT_EQ(list_.size(), 4U);
    list_.push_back(&nodes_[4]);
    EXPECT_EQ(drained(list_), (std::vector{0, 1, 2, 3, 4}));
}

TEST_F(List, AppendWorksToAndFromAnEmptyList) {
    fifo<node> other;
    list_.append(other);
    EXPECT_TRUE(list_.empty());
    other.push_back(&nodes_[0]);
    list_.append(other);
    EXPECT_EQ(list_.size(), 1U);
    list_.append(other);
    EXPECT_EQ(drained(list_), std::vector{0});
}

TEST_F(List, AStackPopsTheNewestFirst) {
    lifo<node> stack;
    EXPECT_TRUE(stack.empty());
    EXPECT_EQ(stack.pop(), nullptr);
    for (int i = 0; i < 3; ++i) stack.push(&nodes_[i]);
    EXPECT_EQ(stack.size(), 3U);
    EXPECT_EQ(stack.pop(), &nodes_[2]);
    stack.push(&nodes_[3]);
    for (const int i : {3, 1, 0}) EXPECT_EQ(stack.pop(), &nodes_[i]);
    EXPECT_EQ(stack.pop(), nullptr);
    EXPECT_EQ(stack.size(), 0U);
    EXPECT_TRUE(stack.empty());
}

TEST_F(List, AStackTakesABatchInItsOrder) {
    lifo<node> stack;
    stack.push(&nodes_[0]);
    for (int i = 1; i < 4; ++i) list_.push_back(&nodes_[i]);
    stack.take_all(list_);
    EXPECT_TRUE(list_.empty());
    EXPECT_EQ(stack.size(), 4U);
    for (const int i : {1, 2, 3, 0}) EXPECT_EQ(stack.pop(), &nodes_[i]) << "in its order, before the others";
    stack.take_all(list_);
    EXPECT_TRUE(stack.empty());
}

struct far_node {
    far_node* next = nullptr;
    far_node* behind = nullptr;
};

TEST(LongList, EachNodeLinksToANodeSeveralPlacesLater) {
    constexpr int n = 20;
    far_node nodes[n];
    far_node* all[n];
    for (int i = 0; i < n; ++i) all[i] = &nodes[i];
    fifo<far_node> list = link_ahead(all, n);
    EXPECT_EQ(list.size(), 20U);
    for (int i = 0; i < n; ++i) EXPECT_EQ(nodes[i].behind, i + 8 < n ? &nodes[i + 8] : nullptr) << i;
    EXPECT_TRUE(link_ahead(all, 0).empty());
}

TEST(LongList, TheFrontMovesInItsOrder) {
    far_node nodes[6];
    far_node* all[] = {&nodes[0], &nodes[1], &nodes[2], &nodes[3]};
    lifo<far_node> depot;
    depot.push(&nodes[5]);
    fifo<far_node> batch = link_ahead(all, 4);
    depot.take_all(batch);
    fifo<far_node> taken;
    taken.push_back(&nodes[4]);
    move_front(depot, taken, 3);
    for (const int i : {4, 0, 1, 2}) EXPECT_EQ(taken.pop_front(), &nodes[i]);
    move_front(depot, taken, 3);
    for (const int i : {3, 5}) EXPECT_EQ(taken.pop_front(), &nodes[i]);
    EXPECT_TRUE(taken.empty());
    EXPECT_TRUE(depot.empty());
    move_front(depot, taken, 3);
    EXPECT_TRUE(taken.empty());
}

}  // namespace
}  // namespace weft::detail
