// wait_sampling.h: which waits are samples, and for how many each stands.
//
// Both rules are unbiased: the expected count of a wait is 1, and the expected time its duration.
// They are those of Go's block and mutex profiles.
//
// Threads: any.
#pragma once

#include <cstdint>

namespace weft::observe::detail {

// What a wait adds to the profile. count is zero: it was not sampled.
struct weighted_wait {
    double count = 0;
    int64_t ns = 0;
};

// A wait is sampled with a probability in proportion to its duration, up to rate_ns: 1. A shorter
// one stands for rate_ns of waiting, in waits of its own duration. random: of [0, 2^32).
[[nodiscard]] inline weighted_wait sample_by_duration(int64_t ns, int64_t rate_ns, uint32_t random) noexcept {
    if (ns < 1) ns = 1;  // clocks are coarse
    if (ns >= rate_ns) return {1, ns};
    const double share = static_cast<double>(ns) / static_cast<double>(rate_ns);
    if (static_cast<double>(random) >= share * 4294967296.0) return {};
    return {1 / share, rate_ns};
}

// One of fraction waits is sampled.
[[nodiscard]] inline weighted_wait sample_by_count(int64_t ns, uint32_t fraction, uint32_t random) noexcept {
    if (uint64_t{random} * fraction >> 32 != 0) return {};
    return {static_cast<double>(fraction), ns * fraction};
}

}  // namespace weft::observe::detail
