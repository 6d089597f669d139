// local.h: the values that one G has of weft::local variables.
//
// A table, made at first use: slots by the local's index, for finding, and a list in the order of construction, for destroying. A slot may
// hold a value of an earlier local that had the same index: its serial number tells. Such values stay until the G ends.
//
//     by the local's index          in the order of construction
//     slots  0 │ ──▶ node ◀──────── oldest
//            1 │                      │ newer
//            2 │ ──▶ node ◀───────────┘ ◀── newest
//
// A G that uses no local has no table, and its trait::locals is clear.
//
// Who: the G it belongs to; for one that has not run yet, whoever makes or discards it. Outside of the runtime.
// See: weft/local.h, docs/local.md
#pragma once

#include <cstdint>

#include <weft/local.h>

namespace weft::detail {

struct G;

// How often destroying values may lead to new ones.
inline constexpr uint32_t local_rounds = 4;

struct local_table {
    local_table() = default;
    local_table(const local_table&) = delete;
    local_table& operator=(const local_table&) = delete;

    ~local_table() {
        if (slots != own_slots) delete[] slots;
    }

    // What is in k's slot, if it is k's.
    [[nodiscard]] local_node* find(const local_key& k) const noexcept {
        if (k.index_ >= size) return nullptr;
        local_node* n = slots[k.index_];
        return n != nullptr && n->serial == k.serial_ ? n : nullptr;
    }

    // Makes room for a slot number index. Throws std::bad_alloc.
    void reserve(uint32_t index);

    void announce(const local_key& k);
    void give(const local_key& k, local_node* made) noexcept;
    void give_up(const local_key& k) noexcept;

    // Takes n out; its slot too, unless another value has it by now.
    void unlink(local_node* n) noexcept;

    // Destroys all values, newest first, and those that this leads to.
    void destroy_all() noexcept;

    // Copies of all values that can be copied; nullptr if there are none. Throws what copying does.
    [[nodiscard]] local_table* copy() const;

    static constexpr uint32_t own_slot_count = 8;

    local_node** slots = own_slots;
    uint32_t size = own_slot_count;
    uint32_t round = 0;  // of what is made now
    local_node* oldest = nullptr;
    local_node* newest = nullptr;
    local_node* own_slots[own_slot_count] = {};

private:
    void append(local_node* n) noexcept;
};

// Destroys t and its values, which belong to a G that has not run. t may be nullptr.
void discard_locals(local_table* t) noexcept;

// Frees t and its values, without destroying them: their G is not unwound.
void forget_locals(local_table* t) noexcept;

}  // namespace weft::detail
