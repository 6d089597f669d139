// g_pool.h: allocation of Gs: type-stable chunks of address space and a depot of dead Gs.
//
// A G pointer may be stale: dumps walk all Gs without a lock, and a waker may read an ended G. So
// chunks stay mapped while the runtime lives, and pages of dead Gs are discarded. They read as
// zeros, which are Gs in state idle. A unit of a chunk is as many Gs as fill a page:
//
//     chunk, aligned to its size
//     │ record of the chunk, a list of dead Gs for each unit │ unit │ unit │ unit │ …
//
//     unit     from → to          | by                    | how
//     ──────────────────────────────────────────────────────────────────────────────────────────────
//              blank → used       | add_block()           | its Gs are dead, and go to the depot
//              used → in hand     | trim(): all retired   | no thread can take them
//              in hand → blank    | trim()                | the page is discarded
//
// trim() works in rounds, as for stacks (src/stack/trim.cc). It retires unneeded Gs of the depot to
// their units' lists, where take() still finds them, and discards fully retired units. Pages are
// discarded under the lock `freezing`: the bit that freezes a G (freeze.h) must not be lost.
//
// Rejected:
// - Freeing unread blocks (epochs, hazard pointers): every waker would announce its read.
// - Freeing whole chunks only: one live G keeps a chunk.
// - The record in separate memory: a G has no room for a pointer to it.
//
// Invariants: I1. A G is in use, in a P's cache, in the depot, or in its unit's list, unless its
//                 unit is blank or in hand.
//             I2. Gs of a blank unit are zeros, dead ones that the system did not discard, or
//                 untouched.
// Ordering:   R1 (a unit is shown, its Gs dead) pairs with A1 (for_each, find).
//             R2 (a chunk joins the list) pairs with A2 (the same).
// Locks:      lock (leaf); freezing, with no other lock held.
// Threads:    any.
// See:        docs/stacks.md#memory-that-goes-back
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "base/atomic.h"
#include "base/list.h"
#include "base/low_water.h"
#include "base/ranked_lock.h"
#include "sched/g.h"
#include "stack/stack.h"

namespace weft::detail {

class g_pool {
public:
    static constexpr std::size_t chunk_size = 1024 * 1024;
    static constexpr uint32_t block_size = 128;  // Gs created at once

    // trims: trim() is called when give() asks for it.
    explicit g_pool(bool trims = true) noexcept : trims_(trims), watched_(!trims) {}

    g_pool(const g_pool&) = delete;
    g_pool& operator=(const g_pool&) = delete;

    ~g_pool();

    [[nodiscard]] fifo<G> take(uint32_t n) noexcept;

    // True: the caller must arrange for trim() to be called until a round is over.
    [[nodiscard]] bool give(fifo<G>& batch) noexcept;

    // Throws std::bad_alloc.
    void add_block() {
        if (!try_add_block()) throw std::bad_alloc();
    }

    // False: no memory.
    [[nodiscard]] bool try_add_block() noexcept;

    // One step of a round, for at most `most` Gs.
    trimming trim(uint32_t most) noexcept;

    [[nodiscard]] uint64_t trimmed_bytes() const noexcept { return trimmed_bytes_.load(relaxed_count); }

    // Calls f(G&) for every G that is not idle.
    template <typename F>
    void for_each(F&& f) {
        for (chunk* c = chunks_.load(acquire); c != nullptr; c = c->next.load(acquire)) {  // A2
            for (uint32_t u = c->first_unit; u < units_in_chunk(); ++u) {
                if (!c->units[u].shown.load(acquire)) continue;  // A1
                G* gs = c->gs_of(u);
                for (uint32_t i = 0; i < gs_in_unit(); ++i) {
                    // relaxed: A1; idle: its memory is being returned
                    if (gs[i].state.load(relaxed) != g_state::idle) f(gs[i]);
                }
            }
        }
    }

    // nullptr: no G is there.
    [[nodiscard]] const G* find(const void* at) const noexcept;

private:
    static constexpr std::size_t smallest_unit = 4096;
    static constexpr uint32_t most_units = chunk_size / smallest_unit;

    struct unit {
        lifo<G> retired;            // guarded by lock_
        atomic<bool> shown{false};  // its Gs may be read: R1, A1
        bool in_hand = false;       // between blank and used; guarded by lock_
        bool was_used = false;      // owned by the thread that has it in hand
    };

    struct chunk {
        atomic<chunk*> next{nullptr};  // R2, A2
        void* mapping = nullptr;       // includes neighbours that could not be unmapped
        std::size_t mapping_size = 0;
        uint32_t first_unit = 0;  // earlier ones hold this record
        uint32_t blank = 0;       // units; guarded by lock_, as the next two
        uint32_t retired = 0;     // Gs
        bool ripe = false;        // a G was retired since the last discard_retired()
        unit units[most_units];

        [[nodiscard]] G* gs_of(uint32_t u) noexcept {
            void* address = reinterpret_cast<std::byte*>(this) + u * unit_size();
            return static_cast<G*>(address);
        }
    };

    [[nodiscard]] static std::size_t unit_size() noexcept;
    [[nodiscard]] static uint32_t units_in_chunk() noexcept;
    [[nodiscard]] static uint32_t gs_in_unit() noexcept;
    [[nodiscard]] static chunk* chunk_of(const G* g) noexcept;
    [[nodiscard]] static chunk* map_chunk() noexcept;

    void append_locked(chunk* c) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] chunk* with_blank_locked() noexcept WEFT_REQUIRES(lock_);
    void fill_unit(chunk& c, uint32_t u, fifo<G>& into) noexcept;
    void take_retired_locked(uint32_t n, fifo<G>& into) noexcept WEFT_REQUIRES(lock_);
    void retire_locked(uint32_t most) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] uint64_t discard_retired(chunk& c) noexcept;
    void put_back(chunk& c, const uint32_t* units, uint32_t n) noexcept;

    const bool trims_;

    ranked_lock<lock_rank::leaf> lock_;
    // Guarded by lock_.
    lifo<G> depot_ WEFT_GUARDED_BY(lock_);
    low_water unused_ WEFT_GUARDED_BY(lock_);          // of the depot
    uint64_t retired_ WEFT_GUARDED_BY(lock_) = 0;      // Gs in unit lists
    uint32_t surplus_ WEFT_GUARDED_BY(lock_) = 0;      // Gs that this round must still retire
    chunk* last_ WEFT_GUARDED_BY(lock_) = nullptr;     // the newest
    chunk* taking_ WEFT_GUARDED_BY(lock_) = nullptr;   // no older chunk has retired Gs
    chunk* filling_ WEFT_GUARDED_BY(lock_) = nullptr;  // no older chunk has blank units; nullptr: no chunk has
    bool watched_ WEFT_GUARDED_BY(lock_);

    // Owned by the trim() that has set trims_now_.
    atomic<bool> trims_now_{false};
    bool in_round_ = false;

    atomic<chunk*> chunks_{nullptr};  // the oldest; written under lock_
    atomic<uint64_t> trimmed_bytes_{0};
};

}  // namespace weft::detail
