// shared_queue.h: runnable Gs that are in no ring.
//
// A list under a lock. The scheduler's global queue is one: what overflows a ring, what plain threads make runnable. Ps look there every
// 61st schedule and when they run dry, and then take a batch, so the lock is taken rarely. Gs of other classes than the normal one wait
// in such lists, too (classes.h).
//
// Invariants: I1. size() is the list's length at some moment; exact under the lock.
// Locks:      lock (leaf).
// Who:        any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include <weft/detail/spin_lock.h>

#include "base/atomic.h"
#include "base/list.h"
#include "sched/g.h"

namespace weft::detail {

class shared_queue {
public:
    [[nodiscard]] uint32_t size() const noexcept {
        return size_.load(relaxed);  // relaxed: a hint; fences where it matters are the idle protocol's
    }

    void push(G* g) noexcept {
        g->behind = nullptr;
        lock_.lock();
        list_.push_back(g);
        publish_locked();
        lock_.unlock();
    }

    // Appends all of batch, in order.
    void push(fifo<G>& batch) noexcept {
        lock_.lock();
        list_.append(batch);
        publish_locked();
        lock_.unlock();
    }

    // Takes the head; nullptr if there is none.
    [[nodiscard]] G* pop() noexcept {
        if (size() == 0) return nullptr;
        lock_.lock();
        G* g = list_.pop_front();
        publish_locked();
        lock_.unlock();
        return g;
    }

    // Takes up to n from the head.
    [[nodiscard]] fifo<G> pop(uint32_t n) noexcept {
        fifo<G> batch;
        lock_.lock();
        move_front(list_, batch, n);
        publish_locked();
        lock_.unlock();
        return batch;
    }

    // Takes g, wherever it is in the list. False: it is not. Walks the list.
    [[nodiscard]] bool take(G* g) noexcept {
        if (size() == 0) return false;
        lock_.lock();
        const bool found = take_locked(g);
        lock_.unlock();
        return found;
    }

    static constexpr uint32_t walk_max = 4096;

    // As take(), but looks into no list of more than walk_max.
    [[nodiscard]] bool take_if_short(G* g) noexcept {
        if (size() == 0) return false;
        lock_.lock();
        const bool found = list_.size() <= walk_max && take_locked(g);
        lock_.unlock();
        return found;
    }

private:
    bool take_locked(G* g) noexcept {
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

    void publish_locked() noexcept { size_.store(list_.size(), relaxed); }  // relaxed: see size()

    spin_lock lock_;
    fifo<G> list_;  // guarded by lock_
    atomic<uint32_t> size_{0};
};

}  // namespace weft::detail
