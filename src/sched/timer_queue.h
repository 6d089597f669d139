// timer_queue.h: the deadlines of one P, earliest first.
//
// An intrusive pairing heap: a timer is a node in the frame of whoever waits, so adding never allocates. Adding is one
// comparison; cancelling a node without children (most are) unlinks it from its siblings; taking the earliest merges its
// children in pairs, O(log n) amortised. Equal deadlines fire in the order they were added.
//
// Rejected: a heap in an array (grows by allocation, inside the scheduler); a wheel (needs a bitmap walk to find the next
// deadline, and rounds deadlines to its ticks).
//
// Invariants: I1. next_deadline() is the root's deadline, or never; written under the lock.
// Locks:      lock (may be taken while an object's lock is held; nothing is taken under it).
// Who:        any M with a P; deadlines are read by anybody.
// See:        docs/timers.md
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/assert.h"
#include "base/atomic.h"

namespace weft::detail {

class timer_queue;

// One deadline of one waiter. Guarded by the lock of the queue it is in.
struct timer {
    int64_t deadline_ns = never;
    uint64_t order = 0;
    waiter* who = nullptr;
    timer_queue* home = nullptr;  // the queue it was added to; set once, by the owner
    bool queued = false;
    bool fired = false;  // the deadline has won the claim

    // Heap links.
    timer* child = nullptr;    // first child
    timer* sibling = nullptr;  // next sibling; in a list of fired timers: the next one
    timer* back = nullptr;     // previous sibling, or the parent of a first child

    [[nodiscard]] bool before(const timer& other) const noexcept {
        return deadline_ns != other.deadline_ns ? deadline_ns < other.deadline_ns : order < other.order;
    }
};

class timer_queue {
public:
    spin_lock lock;

    // The earliest deadline, or never. Any thread, without the lock: a hint that is exact for the owner.
    [[nodiscard]] int64_t next_deadline() const noexcept {
        return next_.load(relaxed);  // relaxed: who acts on it takes the lock
    }

    [[nodiscard]] uint64_t size() const noexcept { return size_; }

    // Requires: the lock is held; t is in no queue.
    void add_locked(timer& t) noexcept {
        WEFT_ASSERT(!t.queued);
        t.queued = true;
        t.home = this;
        t.order = ++added_;
        t.child = t.sibling = t.back = nullptr;
        root_ = merge(root_, &t);
        ++size_;
        publish();
    }

    // Requires: the lock is held; t is queued here.
    void remove_locked(timer& t) noexcept {
        WEFT_ASSERT(t.queued && t.home == this);
        t.queued = false;
        --size_;
        if (&t == root_) {
            root_ = merge_pairs(t.child);
        } else {
            (t.back->child == &t ? t.back->child : t.back->sibling) = t.sibling;
            if (t.sibling != nullptr) t.sibling->back = t.back;
            root_ = merge(root_, merge_pairs(t.child));
        }
        publish();
    }

    // Removes and returns the earliest timer if it is due at now_ns; nullptr otherwise. Requires: the lock is held.
    [[nodiscard]] timer* pop_due_locked(int64_t now_ns) noexcept {
        if (root_ == nullptr || root_->deadline_ns > now_ns) return nullptr;
        timer* t = root_;
        remove_locked(*t);
        return t;
    }

private:
    void publish() noexcept {
        next_.store(root_ == nullptr ? never : root_->deadline_ns, relaxed);  // relaxed: see next_deadline
    }

    static timer* merge(timer* a, timer* b) noexcept {
        if (a == nullptr) return b;
        if (b == nullptr) return a;
        if (b->before(*a)) {
            timer* t = a;
            a = b;
            b = t;
        }
        b->back = a;
        b->sibling = a->child;
        if (a->child != nullptr) a->child->back = b;
        a->child = b;
        a->sibling = a->back = nullptr;
        return a;
    }

    // Two passes: merge neighbours from the left, then merge the results from the right.
    static timer* merge_pairs(timer* first) noexcept {
        timer* pairs = nullptr;
        while (first != nullptr) {
            timer* a = first;
            timer* b = a->sibling;
            first = b == nullptr ? nullptr : b->sibling;
            a->sibling = a->back = nullptr;
            if (b != nullptr) b->sibling = b->back = nullptr;
            timer* merged = merge(a, b);
            merged->sibling = pairs;
            pairs = merged;
        }
        timer* root = nullptr;
        while (pairs != nullptr) {
            timer* rest = pairs->sibling;
            pairs->sibling = nullptr;
            root = merge(root, pairs);
            pairs = rest;
        }
        return root;
    }

    // Guarded by lock.
    timer* root_ = nullptr;
    uint64_t added_ = 0;
    uint64_t size_ = 0;

    atomic<int64_t> next_{never};
};

}  // namespace weft::detail
