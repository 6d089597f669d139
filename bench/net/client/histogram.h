// histogram.h: durations, counted in buckets as wide as 1/64 of their values.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bench::net {

class histogram {
public:
    void add(int64_t ns) {
        ++buckets_[bucket_of(static_cast<uint64_t>(ns < 0 ? 0 : ns))];
        ++count_;
    }

    [[nodiscard]] int64_t count() const { return count_; }

    // The smallest value, in microseconds, that at least a share of the values does not exceed; 0
    // without values.
    [[nodiscard]] double percentile_us(double share) const {
        const auto wanted = static_cast<int64_t>(share * static_cast<double>(count_));
        int64_t seen = 0;
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            seen += buckets_[i];
            if (seen > wanted || (seen == count_ && seen != 0)) return static_cast<double>(middle_of(i)) / 1000;
        }
        return 0;
    }

private:
    static constexpr int precision_bits = 6;
    static constexpr int longest_bits = 42;  // more than an hour
    static constexpr std::size_t bucket_count = std::size_t{longest_bits - precision_bits + 1} << precision_bits;

    // Below 2^7 each value has its own bucket; above, the seven highest bits select it.
    static std::size_t bucket_of(uint64_t ns) {
        const uint64_t most = (uint64_t{1} << longest_bits) - 1;
        if (ns > most) ns = most;
        const int shift = std::max(0, static_cast<int>(std::bit_width(ns)) - precision_bits - 1);
        return (static_cast<std::size_t>(shift) << precision_bits) + static_cast<std::size_t>(ns >> shift);
    }

    static uint64_t middle_of(std::size_t bucket) {
        if (bucket < (std::size_t{2} << precision_bits)) return bucket;
        const std::size_t shift = (bucket >> precision_bits) - 1;
        const uint64_t least = (bucket - (shift << precision_bits)) << shift;
        return least + (uint64_t{1} << shift) / 2;
    }

    std::array<int64_t, bucket_count> buckets_{};
    int64_t count_ = 0;
};

}  // namespace bench::net
