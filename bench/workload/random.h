// random.h: random numbers, the same in every language.
#pragma once

#include <cstdint>

namespace bench {

// SplitMix64's step as a hash: random(i) is the i-th number of one sequence, without any state.
constexpr uint64_t random(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// A number from 0 to limit - 1.
constexpr int64_t random_below(int64_t x, int64_t limit) {
    return static_cast<int64_t>(random(static_cast<uint64_t>(x)) % static_cast<uint64_t>(limit));
}

// Work of a few nanoseconds per step that cannot be optimized away: x hashed repeatedly.
constexpr uint64_t hash_over(uint64_t x, int64_t steps) {
    for (int64_t i = 0; i < steps; ++i) x = random(x);
    return x;
}

}  // namespace bench
