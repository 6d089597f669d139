// linearizable.h: whether a history of reads and writes of one register could have happened one
// after the other.
//
// Wing and Gong, "Testing and Verifying Concurrent Objects", 1993: a search for an order that keeps
// every operation that ended before another began in front of it, and in which each read returns
// the last write. Sets of operations that have been tried with the same value are not tried again
// (Lowe, "Testing for Linearizability", 2017).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

struct operation {
    static constexpr uint64_t unknown = std::numeric_limits<uint64_t>::max();

    bool writes = false;
    std::string value{};     // written or read; each value is written at most once
    uint64_t begin = 0;      // in any unit
    uint64_t end = unknown;  // a write without an end may have happened at any time, or not at all
};

class linearizability {
public:
    static constexpr std::size_t most = 64;

    // Of one register, which is empty at first. At most `most` operations; each read has an end.
    [[nodiscard]] static bool holds(const std::vector<operation>& all) { return linearizability(all).search(0, ""); }

private:
    explicit linearizability(const std::vector<operation>& all) : all_(all) {
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].end != operation::unknown) required_ |= uint64_t{1} << i;
    }

    // Whether the operations that are not in done can follow it, where the register has value.
    bool search(uint64_t done, const std::string& value) {
        if ((required_ & ~done) == 0) return true;
        if (!tried_.emplace(done, value).second) return false;
        uint64_t first_end = operation::unknown;
        for (std::size_t i = 0; i < all_.size(); ++i)
            if ((done >> i & 1) == 0 && all_[i].end < first_end) first_end = all_[i].end;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            const operation& o = all_[i];
            if ((done >> i & 1) != 0 || o.begin > first_end || (!o.writes && o.value != value)) continue;
            if (search(done | uint64_t{1} << i, o.value)) return true;
        }
        return false;
    }

    const std::vector<operation>& all_;
    uint64_t required_ = 0;
    std::set<std::pair<uint64_t, std::string>> tried_;
};
