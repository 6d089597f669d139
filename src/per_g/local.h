// local.h: the values of weft::local variables in one G.
//
// A table, made at first use: slots by the local's index, and a list in order of construction. A
// slot may hold a value of an earlier local with the same index, told by its serial number. A G
// without a table has trait::locals clear.
//
// Threads: the G, outside the runtime; before it runs, the thread that makes or discards it.
// See:     weft/local.h, docs/local.md
#pragma once

#include <cstdint>

#include <weft/local.h>

#include "sched/switch_hooks.h"

namespace weft::detail {

struct G;

// How often destructors of values may make new values.
inline constexpr uint32_t local_rounds = 4;

struct local_table {
    local_table() = default;
    local_table(const local_table&) = delete;
    local_table& operator=(const local_table&) = delete;

    ~local_table() {
        if (slots != own_slots) delete[] slots;
        delete words;
    }

    [[nodiscard]] local_node* find(const local_key& k) const noexcept {
        if (k.index_ >= size) return nullptr;
        local_node* n = slots[k.index_];
        return n != nullptr && n->serial == k.serial_ ? n : nullptr;
    }

    // Throws std::bad_alloc.
    void reserve(uint32_t index);

    void announce(const local_key& k);
    void give(const local_key& k, local_node* made) noexcept;
    void give_up(const local_key& k) noexcept;

    void unlink(local_node* n) noexcept;

    // Destroys all values, newest first, and those made by destructors.
    void destroy_all() noexcept;

    // Copies the values that can be copied, and inherited words; nullptr if it has neither. Throws
    // what copying throws.
    [[nodiscard]] local_table* copy() const;

    static constexpr uint32_t own_slot_count = 8;

    local_node** slots = own_slots;
    uint32_t size = own_slot_count;
    uint32_t round = 0;  // of new values
    local_node* oldest = nullptr;
    local_node* newest = nullptr;
    hook_words* words = nullptr;  // nullptr: none
    local_node* own_slots[own_slot_count] = {};

private:
    void append(local_node* n) noexcept;
};

// Those of g, which is the caller. Made if they do not exist. Throws std::bad_alloc.
[[nodiscard]] hook_words& hook_words_of(G& g);

// t may be nullptr; its G has not run.
void discard_locals(local_table* t) noexcept;

// Frees t and its values undestroyed: their G is not unwound.
void forget_locals(local_table* t) noexcept;

// fork.h, F3.
void free_locals_lock() noexcept;

}  // namespace weft::detail
