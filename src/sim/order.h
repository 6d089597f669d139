// order.h: which accesses of a schedule are ordered by what happened between them.
//
// Vector clocks (Fidge 1988, Mattern 1989): each green thread counts its own operations, and knows
// of each other one up to which operation it has happened before. An operation on an object orders:
// what happened before the earlier ones on it, happened before the later ones. So does making a
// green thread runnable. An access races with an earlier one that has not happened before it.
//
// All operations on an object order each other. Exact rules for each kind of object would find more
// races; these find none that are not.
//
// Threads: the simulation's M.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft::sim {

class order {
public:
    void clear() noexcept;

    // Green thread g operates on the object.
    void operate(uint32_t g, const void* object);
    // g makes other runnable, or starts it.
    void make_runnable(uint32_t g, uint32_t other);

    // When something happened to g.
    struct moment {
        uint32_t g = 0;
        std::vector<uint32_t> seen{};  // of each green thread, by number: its operations before
    };

    [[nodiscard]] moment now(uint32_t g) { return {g, of(g)}; }

    [[nodiscard]] static bool is_before(const moment& a, const moment& b) noexcept {
        return a.g < b.seen.size() && b.seen[a.g] >= a.seen[a.g];
    }

    // The earlier access that it races with; nullptr: none.
    struct access {
        uint32_t g = 0;
        uint32_t count = 0;  // of g's operations, when it accessed
        bool writes = false;
        std::source_location where{};
    };

    [[nodiscard]] const access* note(uint32_t g, const void* value, bool writes, const std::source_location& where);

    void forget(const void* value) noexcept { values_.erase(value); }

private:
    using clock = std::vector<uint32_t>;  // by number; missing: 0

    static void join(clock& into, const clock& from);
    clock& of(uint32_t g);
    static bool is_before(const access& a, const clock& now) noexcept;

    std::vector<clock> green_threads_;
    std::unordered_map<const void*, clock> objects_;
    // For each value the last write, and the reads since.
    std::unordered_map<const void*, std::vector<access>> values_;
};

}  // namespace weft::sim
