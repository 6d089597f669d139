// g_pool.h: where Gs come from and go to: type-stable chunks of address space and a depot of dead Gs.
//
// The problem. A G pointer may be stale: a dump walks all Gs without a lock, and a waker may look at a G that has ended. So the address of a G
// must stay readable, and read as a G, as long as the runtime lives. But the memory of a million dead ones (256 MB) has to go back.
//
// So the address space is kept, and pages are discarded: a page that was reads as zero, and all zeros is a G too, one in the state idle, which
// nobody uses. Gs lie in chunks; a unit of a chunk is as many Gs as fill a page:
//
//     chunk, aligned to its size
//     │ record of the chunk, a list of dead Gs for each unit │ unit │ unit │ unit │ …
//
//     unit     from → to          | who                   | how
//     ─────────────────────────────────────────────────────────────────────────────────────────────────
//              blank → used       | add_block()           | its Gs become dead ones, and go to the depot
//              used → in hand     | trim(): all its Gs    | nobody can get at them any more
//                                 | are retired           |
//              in hand → blank    | trim()                | the page is discarded
//
// trim() works as that of stacks does (src/stack/trim.cc), in rounds: a low-water mark says how many Gs of the depot were not needed; so many are
// retired, to the lists of their units; units whose Gs are all retired are discarded. Retired Gs are still good for use, after those in the depot.
//
// A dump holds Gs still by a bit in them (freeze.h). While the lock `freezing` is held no bit may be lost, so pages are discarded under that lock.
//
// Rejected. Freeing blocks when nobody looks (epochs, hazard pointers): each waker would have to say that it looks. Whole chunks only: one G
// of a thousand that lives on would keep 256 KiB. The record in memory of its own: a G has no room for a pointer to it.
//
// Invariants: I1. A G is in one place: in use, in a P's cache, in the depot, or in the list of its unit; unless its unit is blank or in hand.
//             I2. Gs of a blank unit are all zeros, or dead ones that the system did not discard, or have never been touched.
// Ordering:   R1 (a unit is shown, its Gs dead) pairs with A1 (for_each, find). R2 (a chunk joins the list) pairs with A2 (the same).
// Locks:      lock (leaf); freezing, with nothing else held.
// Who:        any thread; add_block() by one that may throw; trim() by one at a time.
// See:        docs/stacks.md#memory-that-goes-back
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/detail/spin_lock.h>

#include "base/atomic.h"
#include "base/list.h"
#include "base/low_water.h"
#include "sched/g.h"
#include "stack/stack.h"

namespace weft::detail {

class g_pool {
public:
    static constexpr std::size_t chunk_size = 1024 * 1024;
    static constexpr uint32_t block_size = 128;  // Gs made at once

    // trims: somebody calls trim() when give() says so.
    explicit g_pool(bool trims = true) noexcept : trims_(trims), watched_(!trims) {}

    g_pool(const g_pool&) = delete;
    g_pool& operator=(const g_pool&) = delete;

    ~g_pool();

    // Up to n dead Gs; fewer, or none, if there are no more.
    [[nodiscard]] fifo<G> take(uint32_t n) noexcept;

    // True: the caller has to see to it that trim() is called from now on, until that is over.
    [[nodiscard]] bool give(fifo<G>& batch) noexcept;

    // Makes more Gs and puts them into the depot. Throws std::bad_alloc.
    void add_block();

    // A part of a round that gives back the memory of Gs that were not needed since the round before. Returns bytes, and whether there is more.
    trimming trim(uint32_t most) noexcept;

    // Bytes that trim() has given back so far.
    [[nodiscard]] uint64_t trimmed_bytes() const noexcept {
        return trimmed_bytes_.load(relaxed);  // relaxed: statistics
    }

    // Calls f(G&) for every G that is in use or was since its memory last went back. Any thread.
    template <typename F>
    void for_each(F&& f) {
        for (chunk* c = chunks_.load(acquire); c != nullptr; c = c->next.load(acquire)) {  // A2
            for (uint32_t u = c->first_unit; u < units_in_chunk(); ++u) {
                if (!c->units[u].shown.load(acquire)) continue;  // A1
                G* gs = c->gs_of(u);
                for (uint32_t i = 0; i < gs_in_unit(); ++i) {
                    // relaxed: A1; idle: the memory goes back at this moment
                    if (gs[i].state.load(relaxed) != g_state::idle) f(gs[i]);
                }
            }
        }
    }

    // The G at that address, dead or not; nullptr if it is none of these. Any thread.
    [[nodiscard]] const G* find(const void* at) const noexcept;

private:
    static constexpr std::size_t smallest_unit = 4096;
    static constexpr uint32_t most_units = chunk_size / smallest_unit;

    struct unit {
        lifo<G> retired;            // guarded by lock_
        atomic<bool> shown{false};  // its Gs are there to be looked at: R1, A1
        bool in_hand = false;       // on the way from blank to used, or back; guarded by lock_
        bool was_used = false;      // by who has it in hand
    };

    // At the beginning of its own memory.
    struct chunk {
        atomic<chunk*> next{nullptr};  // R2, A2
        void* mapping = nullptr;       // of the chunk, and what could not be unmapped beside it
        std::size_t mapping_size = 0;
        uint32_t first_unit = 0;  // those before hold this record
        uint32_t blank = 0;       // units; guarded by lock_, as the next two
        uint32_t retired = 0;     // Gs
        bool ripe = false;        // a G was retired since trim() last looked
        unit units[most_units];

        [[nodiscard]] G* gs_of(uint32_t u) noexcept {
            return reinterpret_cast<G*>(reinterpret_cast<std::byte*>(this) + u * unit_size());
        }
    };

    [[nodiscard]] static std::size_t unit_size() noexcept;
    [[nodiscard]] static uint32_t units_in_chunk() noexcept;
    [[nodiscard]] static uint32_t gs_in_unit() noexcept;
    [[nodiscard]] static chunk* chunk_of(const G* g) noexcept;
    [[nodiscard]] static chunk* map_chunk() noexcept;

    void append_locked(chunk* c) noexcept;
    [[nodiscard]] chunk* with_blank_locked() noexcept;
    void fill_unit(chunk& c, uint32_t u, fifo<G>& into) noexcept;
    void take_retired_locked(uint32_t n, fifo<G>& into) noexcept;
    void retire_locked(uint32_t most) noexcept;
    [[nodiscard]] uint64_t discard_retired(chunk& c) noexcept;
    void put_back(chunk& c, const uint32_t* units, uint32_t n) noexcept;

    const bool trims_;

    spin_lock lock_;
    // Guarded by lock_.
    lifo<G> depot_;
    low_water unused_;          // of the depot, since the last round of trim()
    uint64_t retired_ = 0;      // Gs in lists of units
    uint32_t surplus_ = 0;      // Gs that the present round has still to retire
    chunk* last_ = nullptr;     // the youngest
    chunk* taking_ = nullptr;   // no older chunk has retired Gs
    chunk* filling_ = nullptr;  // no older chunk has blank units; nullptr: none has
    bool watched_;

    // Of the round of trim() that goes on; of its caller, who has set trims_now_.
    atomic<bool> trims_now_{false};
    bool in_round_ = false;

    atomic<chunk*> chunks_{nullptr};  // the oldest; written under lock_
    atomic<uint64_t> trimmed_bytes_{0};
};

}  // namespace weft::detail
