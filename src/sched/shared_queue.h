// shared_queue.h: a list of runnable Gs, under a lock.
//
// The global queue, the injected queue, and those of the priority classes: docs/scheduling.md.
//
// Invariants: I1. size() was the length at some moment; exact under the lock.
// Locks:      lock (leaf).
// Threads:    any.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/atomic.h"
#include "base/list.h"
#include "base/ranked_lock.h"
#include "sched/g.h"

namespace weft::detail {

class shared_queue {
public:
    [[nodiscard]] uint32_t size() const noexcept {
        return size_.load(relaxed);  // relaxed: a hint; the idle protocol fences where needed
    }

    void push(G* g) noexcept {
        g->behind = nullptr;
        lock_.lock();
        list_.push_back(g);
        publish_locked();
        lock_.unlock();
    }

    void push(fifo<G>& batch) noexcept {
        lock_.lock();
        list_.append(batch);
        publish_locked();
        lock_.unlock();
    }

    [[nodiscard]] G* pop() noexcept {
        if (size() == 0) return nullptr;
        lock_.lock();
        G* g = list_.pop_front();
        publish_locked();
        lock_.unlock();
        return g;
    }

    [[nodiscard]] fifo<G> pop(uint32_t n) noexcept {
        fifo<G> batch;
        lock_.lock();
        move_front(list_, batch, n);
        publish_locked();
        lock_.unlock();
        return batch;
    }

    // Removes g. False: not found. O(size).
    [[nodiscard]] bool take(G* g) noexcept {
        if (size() == 0) return false;
        lock_.lock();
        const bool found = take_locked(g);
        lock_.unlock();
        return found;
    }

    static constexpr uint32_t walk_max = 4096;

    // Fails on lists of more than walk_max Gs.
    [[nodiscard]] bool take_if_short(G* g) noexcept {
        if (size() == 0) return false;
        lock_.lock();
        const bool found = list_.size() <= walk_max && take_locked(g);
        lock_.unlock();
        return found;
    }

private:
    bool take_locked(G* g) noexcept WEFT_REQUIRES(lock_) {
        bool found = false;
        fifo<G> others;
        while (G* next = list_.pop_front()) {
            if (next == g) {
                found = true;
            } else {
                others.push_back(next);
            }
        }
        list_ = others;
        publish_locked();
        return found;
    }

    void publish_locked() noexcept WEFT_REQUIRES(lock_) { size_.store(list_.size(), relaxed); }  // relaxed: see size()

    ranked_lock<lock_rank::leaf> lock_;
    fifo<G> list_ WEFT_GUARDED_BY(lock_);
    atomic<uint32_t> size_{0};
};

}  // namespace weft::detail
