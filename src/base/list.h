// list.h: an intrusive first-in first-out list, linked through a member called next.
//
// No allocation, no ownership. A node is on one list at most; whoever holds the list's lock may touch the links.
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

    // Appends all of other, in order, and leaves it empty. O(1).
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
    Node* head_ = nullptr;
    Node* tail_ = nullptr;
    uint32_t size_ = 0;
};

// An intrusive last-in first-out list: for caches, where the newest is the warmest.
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

    // Moves all of batch here.
    void take_all(fifo<Node>& batch) noexcept {
        while (Node* node = batch.pop_front()) push(node);
    }

private:
    Node* head_ = nullptr;
    uint32_t size_ = 0;
};

}  // namespace weft::detail
