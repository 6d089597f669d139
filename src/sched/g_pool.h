// g_pool.h: where Gs come from and go to: type-stable blocks and a depot of dead ones.
//
// Blocks are only ever added, and never freed while the runtime lives, so dumps can walk them without a lock and a stale
// G pointer still points to a G.
//
// Locks: lock (leaf). Who: any thread; add_block() by one that may throw.
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>

#include "base/atomic.h"
#include "base/list.h"
#include "sched/g.h"

namespace weft::detail {

class g_pool {
public:
    static constexpr uint32_t block_size = 127;  // with the header 32 KiB

    g_pool() = default;
    g_pool(const g_pool&) = delete;
    g_pool& operator=(const g_pool&) = delete;

    ~g_pool() {
        for (block* b = blocks_.load(relaxed); b != nullptr;) {  // relaxed: nobody else is left
            block* next = b->next;
            delete b;
            b = next;
        }
    }

    // Up to n dead Gs; fewer, or none, if the depot has no more.
    [[nodiscard]] fifo<G> take(uint32_t n) noexcept {
        fifo<G> batch;
        lock_.lock();
        move_front(depot_, batch, n);
        lock_.unlock();
        return batch;
    }

    void give(fifo<G>& batch) noexcept {
        lock_.lock();
        depot_.take_all(batch);
        lock_.unlock();
    }

    // Makes another block of Gs and puts them into the depot. Throws std::bad_alloc.
    void add_block() {
        auto* b = new block;
        fifo<G> fresh;
        for (G& g : b->gs) {
            g.state.store(g_state::dead, relaxed);  // relaxed: published by the lock below
            fresh.push_back(&g);
        }
        lock_.lock();
        b->next = blocks_.load(relaxed);  // relaxed: written under the lock
        blocks_.store(b, release);        // pairs with for_each
        depot_.take_all(fresh);
        lock_.unlock();
    }

    // Calls f(G&) for every G there is, dead ones included. Any thread.
    template <typename F>
    void for_each(F&& f) {
        for (block* b = blocks_.load(acquire); b != nullptr; b = b->next) {  // pairs with add_block
            for (G& g : b->gs) f(g);
        }
    }

    // The G at that address, dead or not; nullptr if it is none of these. Any thread.
    [[nodiscard]] const G* find(const void* at) const noexcept {
        for (const block* b = blocks_.load(acquire); b != nullptr; b = b->next) {  // pairs with add_block
            const auto offset = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(b->gs);  // huge, if below
            if (offset < sizeof(b->gs)) return static_cast<const G*>(at);
        }
        return nullptr;
    }

private:
    struct alignas(cache_line) block {
        block* next = nullptr;
        G gs[block_size];
    };

    spin_lock lock_;
    lifo<G> depot_;  // guarded by lock_
    atomic<block*> blocks_{nullptr};
};

}  // namespace weft::detail
