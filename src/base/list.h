// list.h: an intrusive first-in first-out list, linked through a member called next.
//
// It owns nothing. A node is on at most one list. The holder of the list's lock may touch the
// links.
#pragma once

#include <cstdint>

namespace weft::detail {

template <typename Node>
class fifo {
public:
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }

    [[nodiscard]] uint32_t size() const noexcept { return size_; }

    void push_back(Node* node) noexcept {
        node->next = nullptr;
        if (tail_ != nullptr) {
            tail_->next = node;
        } else {
            head_ = node;
        }
        tail_ = node;
        ++size_;
    }

    [[nodiscard]] Node* pop_front() noexcept {
        Node* node = head_;
        if (node == nullptr) return nullptr;
        head_ = node->next;
        if (head_ == nullptr) tail_ = nullptr;
        node->next = nullptr;
        --size_;
        return node;
    }

    // Leaves other empty. O(1).
    void append(fifo& other) noexcept {
        if (other.head_ == nullptr) return;
        if (tail_ != nullptr) {
            tail_->next = other.head_;
        } else {
            head_ = other.head_;
        }
        tail_ = other.tail_;
        size_ += other.size_;
        other = fifo{};
    }

private:
    template <typename>
    friend class lifo;

    Node* head_ = nullptr;
    Node* tail_ = nullptr;
    uint32_t size_ = 0;
};

// Makes a list of n nodes for later use, when they are in no cache. So each node stores, in its
// member behind, the node some places later, which move_front() prefetches.
template <typename Node>
fifo<Node> link_ahead(Node* const* nodes, uint32_t n) noexcept {
    constexpr uint32_t distance = 8;
    fifo<Node> list;
    for (uint32_t i = 0; i < n; ++i) {
        nodes[i]->behind = i + distance < n ? nodes[i + distance] : nullptr;
        list.push_back(nodes[i]);
    }
    return list;
}

// Moves up to n nodes. from consists of lists that link_ahead() has made.
template <typename List, typename Node>
void move_front(List& from, fifo<Node>& to, uint32_t n) noexcept {
    for (; n != 0 && !from.empty(); --n) {
        Node* node = from.pop_front();
        __builtin_prefetch(node->behind);
        to.push_back(node);
    }
}

// A last-in first-out list, for caches: the newest node is the warmest.
template <typename Node>
class lifo {
public:
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }

    [[nodiscard]] uint32_t size() const noexcept { return size_; }

    void push(Node* node) noexcept {
        node->next = head_;
        head_ = node;
        ++size_;
    }

    [[nodiscard]] Node* pop() noexcept {
        Node* node = head_;
        if (node == nullptr) return nullptr;
        head_ = node->next;
        --size_;
        return node;
    }

    [[nodiscard]] Node* pop_front() noexcept { return pop(); }

    // Puts batch, in its order, in front, and leaves it empty. O(1).
    void take_all(fifo<Node>& batch) noexcept {
        if (batch.head_ == nullptr) return;
        batch.tail_->next = head_;
        head_ = batch.head_;
        size_ += batch.size_;
        batch = fifo<Node>{};
    }

private:
    Node* head_ = nullptr;
    uint32_t size_ = 0;
};

}  // namespace weft::detail
