// stack_groups.h: the green threads of a dump, grouped by what they do.
//
// A program with 100 000 green threads has few different stacks. Gs are in one group if state, wait
// reason, class, frames and start place are the same. Each group keeps the snapshot of its first
// member, and what differs: the number, the waiting times, some ids.
//
// The memory is mapped, because a dump must not use malloc. A table that is full, or that could not
// be mapped, takes no new groups; the dump then shows those Gs one by one.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "debug/g_snapshot.h"

namespace weft::detail {

struct stack_group {
    static constexpr int ids_max = 8;

    g_snapshot first;
    uint64_t count = 0;
    int64_t oldest_ns = 0;  // the smallest and the largest since_ns; 0: unknown
    int64_t newest_ns = 0;
    uint64_t ids[ids_max] = {};
    bool same_name = true;
    bool same_labels = true;
    bool same_parent = true;

    explicit stack_group(const g_snapshot& g) noexcept;
    void add(const g_snapshot& g) noexcept;
};

class stack_groups {
public:
    static constexpr std::size_t groups_max = 4096;

    stack_groups() noexcept;
    ~stack_groups();
    stack_groups(const stack_groups&) = delete;
    stack_groups& operator=(const stack_groups&) = delete;

    // Returns false if there is no room for its group.
    [[nodiscard]] bool add(const g_snapshot& g) noexcept;

    // Those with the most members first; among equals, that with the smallest first id. Later calls
    // of add() are not allowed.
    [[nodiscard]] std::span<const stack_group* const> sorted() noexcept;

private:
    static constexpr std::size_t slots = 2 * groups_max;

    struct table {
        uint32_t group_of_slot[slots];  // index + 1; 0: free
        const stack_group* order[groups_max];
        alignas(stack_group) std::byte groups[groups_max][sizeof(stack_group)];
    };

    [[nodiscard]] stack_group& group(std::size_t i) noexcept;

    table* table_;  // nullptr: no memory
    std::size_t count_ = 0;
};

// Where each live G was started, and by which: for chains of creators.
class family {
public:
    struct member {
        uint64_t id;
        uint64_t parent;
        source_location where;
    };

    // At most this many.
    explicit family(std::size_t members) noexcept;
    ~family();
    family(const family&) = delete;
    family& operator=(const family&) = delete;

    void add(const identity& who) noexcept;

    // After the last add(), and before the first find().
    void sort() noexcept;

    // nullptr: it has ended.
    [[nodiscard]] const member* find(uint64_t id) const noexcept;

private:
    member* members_;  // nullptr: no memory
    std::size_t room_;
    std::size_t count_ = 0;
};

}  // namespace weft::detail
